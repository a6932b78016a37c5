package form

import (
	"errors"
	"fmt"
	"reflect"
)

// Either is a parameter that is a text or a hash: source=tok_visa, or
// source[object]=card and its like. T is a struct with form tags.
type Either[T any] struct {
	Text string
	Hash *T // nil: a text was sent, or nothing
}

// Sent reports whether the request had the parameter, as text or as a hash.
func (e Either[T]) Sent() bool { return e.Text != "" || e.Hash != nil }

func (e *Either[T]) decodeForm(d *decoder, f *field, n *node) {
	if n.kind != hashKind {
		e.Text, _ = d.scalar(f, n, "string")
		return
	}
	members, err := planFor(reflect.TypeFor[T]())
	if err != nil {
		panic(fmt.Errorf("form: %T: %w", e, err)) // the tags are wrong, no matter what is sent
	}
	e.Hash = new(T)
	d.hash(members, &n.hash, reflect.ValueOf(e.Hash).Elem())
}

// MarshalText encodes the text. A hash is not encoded: it may be a card that a person
// typed. The operation reads it and drops it.
func (e Either[T]) MarshalText() ([]byte, error) {
	if e.Hash != nil {
		return nil, errors.New("form: a hash is not encoded")
	}
	return []byte(e.Text), nil
}

// UnmarshalText is the opposite of MarshalText.
func (e *Either[T]) UnmarshalText(text []byte) error {
	*e = Either[T]{Text: string(text)}
	return nil
}
