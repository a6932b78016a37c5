package main

import (
	"context"
	_ "embed"
	"fmt"
	"math/rand/v2"

	"github.com/jackc/pgx/v5"
)

//go:embed yardstick.sql
var yardstickSchema string

// Its two statements, each a separate commit, as the acquirer's call between
// them forces it.
const (
	yardstickBegin = `INSERT INTO keys (merchant, key, hash) VALUES ($1, $2, '\x00112233445566778899aabbccddeeff')
		ON CONFLICT (merchant, key) DO NOTHING`
	yardstickFinish = `SELECT finish_charge($1, $2, $3)`
)

func (b *bench) makeYardstick(ctx context.Context) error {
	var err error
	if b.yardstickURL, err = b.Database(ctx, yardstickDatabase); err != nil {
		return fmt.Errorf("make the yardstick: %w", err)
	}
	conn, err := pgx.Connect(ctx, b.yardstickURL)
	if err != nil {
		return fmt.Errorf("make the yardstick: %w", err)
	}
	defer conn.Close(ctx)
	if _, err := conn.Exec(ctx, yardstickSchema); err != nil {
		return fmt.Errorf("make the yardstick: %w", err)
	}
	return nil
}

// yardstick makes clients that charge in plain SQL, each on its own connection.
func (b *bench) yardstick(ctx context.Context, _ int) (job, func(), error) {
	conn, err := pgx.Connect(ctx, b.yardstickURL)
	if err != nil {
		return nil, nil, err
	}
	charge := func(ctx context.Context) error {
		book, n := 1+rand.Int64N(999), rand.Int64()
		if _, err := conn.Exec(ctx, yardstickBegin, book, fmt.Sprintf("k-%d", n)); err != nil {
			return err
		}
		_, err := conn.Exec(ctx, yardstickFinish, book, n, 500+rand.Int64N(99_500))
		return err
	}
	return charge, func() { _ = conn.Close(ctx) }, nil
}
