// Package testonly holds the type that marks calls as made by tests.
package testonly

// Caller marks a call that only tests make. Packages outside internal/phase cannot
// name the type, and cannot construct a value of it.
type Caller struct{ _ caller }

type caller struct{}
