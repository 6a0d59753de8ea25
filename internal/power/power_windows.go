package power

import (
	"context"
	"unsafe"

	"golang.org/x/sys/windows"
)

var systemPowerStatus = windows.NewLazySystemDLL("kernel32.dll").NewProc("GetSystemPowerStatus")

func OnBattery(context.Context) bool {
	var status struct { // SYSTEM_POWER_STATUS
		line, battery, percent, saver byte
		left, full                    uint32
	}
	if systemPowerStatus.Find() != nil {
		return false
	}
	ok, _, _ := systemPowerStatus.Call(uintptr(unsafe.Pointer(&status)))
	return ok != 0 && status.line == 0 // 1 is mains, 255 unknown
}
