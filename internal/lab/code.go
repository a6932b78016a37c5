package lab

import (
	"embed"
	"strings"
)

//go:embed design/*.go
var sources embed.FS

// Source is the code of the design, or "" where the design is no handler of the lab.
func (d Design) Source() string {
	text, err := sources.ReadFile(strings.TrimPrefix(d.Code, "internal/lab/"))
	if err != nil {
		return ""
	}
	return string(text)
}
