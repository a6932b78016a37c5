package design

import "encoding/json"

// saved is what Redis has under a key.
type saved struct {
	State string `json:"state"` // processing, completed or failed
	Body  string `json:"body,omitempty"`
}

func (s saved) String() string {
	text, _ := json.Marshal(s) // two strings: it cannot fail
	return string(text)
}
