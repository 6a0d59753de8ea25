//go:build !linux && !darwin

package daemon

import "errors"

// This system does not tell which user is at the other end of a connection. Other users are kept out only by the
// permissions of the runtime directory and of the socket.
func peerUID(int) (int, error) { return 0, errors.ErrUnsupported }
