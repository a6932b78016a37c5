package port

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// reserve binds a socket that never listens, and leaves it open. The kernel skips a
// bound port whenever it chooses one itself. A process that asks for exactly this
// port gets it, because both sockets have SO_REUSEADDR and ours does not listen.
func reserve() (number int, err error) {
	socket, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return 0, os.NewSyscallError("socket", err)
	}
	number, err = bind(socket)
	if err != nil {
		return 0, errors.Join(err, syscall.Close(socket))
	}
	return number, nil
}

func bind(socket int) (number int, err error) {
	loopback := [4]byte{127, 0, 0, 1}
	err = syscall.SetsockoptInt(socket, syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1)
	if err != nil {
		return 0, os.NewSyscallError("setsockopt", err)
	}
	err = syscall.Bind(socket, &syscall.SockaddrInet4{Addr: loopback})
	if err != nil {
		return 0, os.NewSyscallError("bind", err)
	}
	bound, err := syscall.Getsockname(socket)
	if err != nil {
		return 0, os.NewSyscallError("getsockname", err)
	}
	address, is := bound.(*syscall.SockaddrInet4)
	if !is {
		return 0, fmt.Errorf("the socket is bound to %T", bound)
	}
	return address.Port, nil
}
