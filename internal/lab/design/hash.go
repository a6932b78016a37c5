package design

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
)

// hashOf is the SHA-256 of a JSON object with sorted keys. Other text is hashed as it is.
func hashOf(body string) string {
	sorted := []byte(body)
	var object map[string]any
	if json.Unmarshal(sorted, &object) == nil {
		if text, err := json.Marshal(object); err == nil { // sorts the keys of a map
			sorted = text
		}
	}
	sum := sha256.Sum256(sorted)
	return hex.EncodeToString(sum[:])
}
