//go:build !linux && !darwin

package daemon

import "errors"

// peerUID is not implemented on this system. There the permissions of the
// runtime directory and of the socket keep other users out.
func peerUID(int) (int, error) { return 0, errors.ErrUnsupported }
