//go:build !linux && !darwin && !windows

package power

import "context"

// On this system, the state of the battery cannot be found out.
func OnBattery(context.Context) bool { return false }
