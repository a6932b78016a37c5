package login

import (
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"net/http"
	"slices"
)

// Token is what a form has to carry: it belongs to the browser that asked for the page. Every page has it under
// another mask, so how well pages compress tells nothing about it (BREACH).
func (g *Guard) Token(r *http.Request) string {
	cookie, err := Cookie(r, browserCookie)
	if err != nil {
		return ""
	}
	return mask(sign(g.newestKey(), "form "+cookie.Value))
}

func (g *Guard) ours(w http.ResponseWriter, r *http.Request) bool {
	if g.across.Check(r) != nil {
		return false
	}
	r.Body = http.MaxBytesReader(w, r.Body, 64<<10)
	cookie, err := Cookie(r, browserCookie)
	if err != nil {
		return false
	}
	sent := unmask(r.PostFormValue("csrf"))
	return slices.ContainsFunc(g.keys(), func(key []byte) bool {
		return subtle.ConstantTimeCompare(sent, []byte(sign(key, "form "+cookie.Value))) == 1
	})
}

// mask is a random pad as long as the token, and the two combined by XOR.
func mask(token string) string {
	masked := make([]byte, 2*len(token))
	pad, rest := masked[:len(token)], masked[len(token):]
	_, _ = rand.Read(pad) // never fails
	subtle.XORBytes(rest, pad, []byte(token))
	return base64.RawURLEncoding.EncodeToString(masked)
}

// unmask returns the token under a mask. What it returns for any other text matches no token.
func unmask(sent string) []byte {
	masked, err := base64.RawURLEncoding.DecodeString(sent)
	if err != nil || len(masked)%2 != 0 {
		return nil
	}
	half := len(masked) / 2
	token := make([]byte, half)
	subtle.XORBytes(token, masked[:half], masked[half:])
	return token
}
