package process

import (
	"bytes"
	"fmt"
	"net"

	"github.com/ratchet-pay/ratchet/internal/apierror"
	"github.com/ratchet-pay/ratchet/internal/wire"
)

// stripeShape is a listener for a server that speaks HTTP. Malformed HTTP reaches no handler: the library
// answers it with plain text, which Stripe's clients cannot read. On these connections it has the shape of
// every other error.
type stripeShape struct{ net.Listener }

func (l stripeShape) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return stripeShapeConn{conn}, nil
}

type stripeShapeConn struct{ net.Conn }

// libraryFields are the fields of an error that the library writes without a handler. It writes such an error at once,
// and all its other responses have a date.
const libraryFields = "Content-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n"

func (c stripeShapeConn) Write(sent []byte) (int, error) {
	line, rest, _ := bytes.Cut(sent, []byte("\r\n"))
	text, is := bytes.CutPrefix(rest, []byte(libraryFields))
	if !is {
		return c.Conn.Write(sent)
	}
	// The text is "400 Bad Request: missing required Host header", or has no reason.
	_, reason, _ := bytes.Cut(text, []byte(": "))
	if len(reason) == 0 {
		reason = []byte("its first line, a header or its length cannot be read")
	}
	refusal := apierror.Invalid("", "This request is not valid HTTP: %s.", reason)
	body, err := wire.Encode(apierror.Envelope{Error: refusal})
	if err != nil {
		return 0, err
	}
	_, err = fmt.Fprintf(c.Conn, "%s\r\nCache-Control: no-cache, no-store\r\nConnection: close\r\n"+
		"Content-Length: %d\r\nContent-Type: application/json\r\nX-Content-Type-Options: nosniff\r\n\r\n%s",
		line, len(body), body)
	return len(sent), err
}

// CloseWrite lets the library end a connection so that the client still receives what was written.
func (c stripeShapeConn) CloseWrite() error {
	if half, is := c.Conn.(interface{ CloseWrite() error }); is {
		return half.CloseWrite()
	}
	return nil
}
