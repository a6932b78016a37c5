//go:build !linux

package port

import "net"

// reserve finds a port that is free now. Other systems refuse a port to a listener
// while a socket is bound to it, so nothing is kept open here.
func reserve() (number int, err error) {
	listener, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		return 0, err
	}
	defer listener.Close()
	return listener.Addr().(*net.TCPAddr).Port, nil
}
