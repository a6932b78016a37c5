package secret

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/base64"
	"fmt"
)

// Seal encrypts a text under a key of For, for one place: what is moved to
// another place does not open there. The result is letters, digits, - and _.
func Seal(key []byte, place, text string) (string, error) {
	aead, err := newAEAD(key)
	if err != nil {
		return "", fmt.Errorf("seal: %w", err)
	}
	nonce := make([]byte, aead.NonceSize())
	rand.Read(nonce) // never fails
	return base64.RawURLEncoding.EncodeToString(aead.Seal(nonce, nonce, []byte(text), []byte(place))), nil
}

// Open is the text that was sealed for a place. The error says nothing about it.
func Open(key []byte, place, sealed string) (string, error) {
	aead, err := newAEAD(key)
	if err != nil {
		return "", fmt.Errorf("open: %w", err)
	}
	raw, err := base64.RawURLEncoding.DecodeString(sealed)
	if err != nil || len(raw) < aead.NonceSize() {
		return "", fmt.Errorf("open: this is not a seal")
	}
	text, err := aead.Open(nil, raw[:aead.NonceSize()], raw[aead.NonceSize():], []byte(place))
	if err != nil {
		return "", fmt.Errorf("open: %w", err)
	}
	return string(text), nil
}

func newAEAD(key []byte) (cipher.AEAD, error) {
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCM(block)
}
