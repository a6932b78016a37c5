package form

import "github.com/ratchet-pay/ratchet/internal/apierror"

// Quote is apierror.Quote: a caller's own text, fit to be repeated in a message.
func Quote(input string) string { return apierror.Quote(input) }
