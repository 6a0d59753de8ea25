//go:build !linux && !darwin

package rpc

import "errors"

// peerUID is not known here; the permissions of the runtime directory and of
// the socket are what keeps others out.
func peerUID(int) (int, error) { return 0, errors.ErrUnsupported }
