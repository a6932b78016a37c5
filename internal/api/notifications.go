package api

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/ratchet-pay/ratchet/internal/acquirer"
	"github.com/ratchet-pay/ratchet/internal/apierror"
	"github.com/ratchet-pay/ratchet/internal/inbox"
)

// maxNotification is above any honest notification, in bytes: the longest lists
// acquirer.MaxPartMovements movements, of about 150 bytes each.
const maxNotification = 256 << 10

// notifications is where the acquirer posts its notifications. It is not
// part of Stripe's API: the sender has no API key but a signature. 200 says that
// the message is safe, 409 that it contradicts an earlier one, and 503 that it
// should be sent again. Of what is not signed nothing is kept.
func (s *Server) notifications(c echo.Context) error {
	x := s.startLog(c, acquirer.NotificationsPath)
	err := s.receive(c)
	if err != nil {
		s.writeError(c, x, err)
		return nil
	}
	s.write(c, x, http.StatusOK, []byte("{\"received\":true}\n"), false)
	return nil
}

// acceptsNotifications says whether the acquirer can send us notifications.
func (s *Server) acceptsNotifications() bool { return s.notificationSecret != "" }

func (s *Server) receive(c echo.Context) error {
	h := c.Request()
	if err := s.limits.checkSize(h); err != nil {
		return err
	}
	body, err := io.ReadAll(http.MaxBytesReader(c.Response(), h.Body, maxNotification))
	if err != nil {
		return tooLarge(http.StatusRequestEntityTooLarge, "A notification must have at most %d bytes.", maxNotification)
	}
	if !s.acceptsNotifications() {
		return unauthorized("Notifications are not accepted, because no secret is configured for them.")
	}
	err = acquirer.CheckSignature(s.notificationSecret, h.Header.Get(acquirer.SignatureHeader), body, time.Now())
	if err != nil {
		return errors.Join(unauthorized("The notification's signature is missing, invalid or too old."), err)
	}
	m, err := message(body)
	if err != nil {
		return err
	}
	err = s.inbox.Receive(h.Context(), m)
	if errors.Is(err, inbox.ErrContradiction) {
		return &apierror.Error{
			Status:  http.StatusConflict,
			Type:    apierror.TypeInvalidRequest,
			Param:   "id",
			Message: "Another notification has this ID. Nothing was done.",
		}
	}
	if err != nil {
		return errors.Join(apierror.Unavailable(), err)
	}
	return nil
}

// message reads who a notification is, and nothing else of it.
func message(body []byte) (inbox.Message, error) {
	var named struct{ ID, Kind string }
	if json.Unmarshal(body, &named) != nil || named.ID == "" || len(named.ID) > maxKey || !printable(named.ID) ||
		!printable(named.Kind) {
		return inbox.Message{}, apierror.Invalid("id", "A notification must be a JSON object with an id and a kind.")
	}
	return inbox.New(acquirer.NotificationSource, named.ID, named.Kind, body), nil
}

// notificationTimeout is how long an answer waits for the notifications that came with it.
// Normally that is one commit each.
const notificationTimeout = 2 * time.Second

// applyNotifications applies the notifications that came with the acquirer's answers, so that a
// client finds the dispute of its charge when it has the charge. The answer is committed
// already, and does not fail with them: the acquirer posts each of them as well, and the
// inbox applies it once.
func (s *Server) applyNotifications(ctx context.Context, received *acquirer.Notifications) {
	if !s.acceptsNotifications() {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), notificationTimeout) // the client may have left
	defer cancel()
	for _, body := range received.Bodies {
		m, err := message(body)
		if err == nil {
			err = s.inbox.Receive(ctx, m)
		}
		if err != nil {
			s.log.WarnContext(ctx, "cannot apply a notification that came with an answer", "event",
				m.EventID, "error", err)
		}
	}
}
