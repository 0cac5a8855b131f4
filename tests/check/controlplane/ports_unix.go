//go:build unix && !solaris

package controlplane

import (
	"errors"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

func holdPort() (socket *os.File, port int, err error) {
	syscall.ForkLock.RLock()
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
	if err == nil {
		unix.CloseOnExec(fd)
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		return nil, 0, os.NewSyscallError("socket", err)
	}
	socket = os.NewFile(uintptr(fd), "port")
	err = errors.Join(
		os.NewSyscallError("setsockopt", unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEPORT, 1)),
		os.NewSyscallError("bind", unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}})),
	)
	name, nameErr := unix.Getsockname(fd)
	if err = errors.Join(err, os.NewSyscallError("getsockname", nameErr)); err != nil {
		return nil, 0, errors.Join(err, socket.Close())
	}
	return socket, name.(*unix.SockaddrInet4).Port, nil
}
