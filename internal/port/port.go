// Package port reserves TCP ports of this machine for processes that start later.
//
// "Listen on port 0, close, and pass the number on" leaves a gap: before the new
// process listens, the system may give the same port to any other listener or
// outgoing connection, and the process fails with "address already in use".
package port

import (
	"fmt"
	"net"
	"strconv"
)

// Reserve returns an address such as 127.0.0.1:40395 on which any process may
// listen, also repeatedly. On Linux the system gives its port to nothing else until
// this process ends. Elsewhere it is only known to be free at the moment of the call.
func Reserve() (addr string, err error) {
	number, err := reserve()
	if err != nil {
		return "", fmt.Errorf("reserve a port on 127.0.0.1: %w", err)
	}
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(number)), nil
}
