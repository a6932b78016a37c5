package api

import (
	"context"
	"encoding/base64"
	"errors"
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/ratchet-pay/ratchet/internal/apierror"
	"github.com/ratchet-pay/ratchet/internal/apikey"
	"github.com/ratchet-pay/ratchet/internal/form"
	"github.com/ratchet-pay/ratchet/internal/telemetry"
)

type actingKey struct{}

// WithCredential has a request act for an account without showing a key. It is for pages
// that this very process serves to a user it has let in; credential.KeyID is what
// the audit trail will name as the actor.
func WithCredential(ctx context.Context, credential *apikey.Credential) context.Context {
	return context.WithValue(ctx, actingKey{}, credential)
}

// authenticate finds the account whose key a request carries: as a bearer token,
// as SDKs send it, or as the user of Basic authentication, as curl -u does. A
// publishable key may be a parameter, which browserKey has found.
func (s *Server) authenticate(h *http.Request, rt *route, browserKey string) (*apikey.Credential, error) {
	if credential, is := h.Context().Value(actingKey{}).(*apikey.Credential); is {
		return credential, nil
	}
	key := browserKey
	if key == "" {
		var err error
		if key, err = credential(h.Header); err != nil {
			s.authFailed(h, telemetry.AuthMissing)
			return nil, err
		}
	}
	credential, err := s.findKey(h, key)
	var limited *apierror.Error
	switch {
	case errors.As(err, &limited):
		return nil, limited
	case errors.Is(err, apikey.ErrUnknown): // an unknown key may be a card number
		return nil, unauthorized("Invalid API Key provided: " + apikey.Display(form.Quote(key)))
	case errors.Is(err, apikey.ErrExpired):
		return nil, unauthorized("Expired API Key provided: " + apikey.Display(key)).WithCode("api_key_expired")
	case err != nil:
		return nil, errors.Join(apierror.Unavailable(), err)
	}
	if err := s.refuseForeignPage(h, credential); err != nil {
		return nil, err
	}
	if credential.Kind == apikey.Publishable && !rt.publishable {
		return nil, unauthorized("This API call cannot be made with a publishable API key. Please use a secret API " +
			"key. You can find a list of your API keys at https://dashboard.stripe.com/account/apikeys.").
			WithCode("secret_key_required")
	}
	if other := h.Header.Get("Stripe-Account"); other != "" && other != credential.AccountID {
		return nil, apierror.NoAccess(apikey.Display(key), other)
	}
	return credential, nil
}

// browserKey is the key that Stripe.js sends as the parameter "key" instead of in a
// header, and the parameters without it; "" if there is none. It has to be a
// publishable key and to do for the route: a secret key does not belong in an
// address or a form, and no other body is read before its sender is known.
func (s *Server) browserKey(c echo.Context, rt *route) (string, form.Values) {
	h := c.Request()
	_, inside := h.Context().Value(actingKey{}).(*apikey.Credential)
	if inside || !rt.publishable || len(h.Header.Values("Authorization")) > 0 {
		return "", form.Values{}
	}
	sent, err := s.form(c)
	key, _ := sent.Text("key")
	if err != nil || !strings.HasPrefix(key, "pk_") || !printable(key) {
		return "", form.Values{}
	}
	return key, sent.Without("key")
}

func credential(header http.Header) (string, error) {
	values := header.Values("Authorization")
	if len(values) == 0 {
		return "", unauthorized("You did not provide an API key. You need to provide your API key in the " +
			"Authorization header, using Bearer auth (e.g. 'Authorization: Bearer YOUR_SECRET_KEY'). See " +
			"https://stripe.com/docs/api#authentication for details, or we can help at https://support.stripe.com/.")
	}
	scheme, rest, _ := strings.Cut(values[0], " ")
	key := strings.TrimSpace(rest)
	if strings.EqualFold(scheme, "Basic") {
		decoded, err := base64.StdEncoding.DecodeString(key)
		if err != nil {
			key = ""
		} else {
			key, _, _ = strings.Cut(string(decoded), ":")
		}
	} else if !strings.EqualFold(scheme, "Bearer") {
		key = ""
	}
	if len(values) > 1 || key == "" || !printable(key) {
		return "", unauthorized("Invalid authorization header. Send one key, as 'Authorization: Bearer " +
			"YOUR_SECRET_KEY' or with HTTP Basic auth as the user name.")
	}
	return key, nil
}

func unauthorized(message string) *apierror.Error {
	return &apierror.Error{Status: http.StatusUnauthorized, Type: apierror.TypeInvalidRequest, Message: message}
}
