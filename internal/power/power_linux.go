package power

import (
	"context"
	"io/fs"
	"os"
	"strings"
)

func OnBattery(context.Context) bool { return onBattery(os.DirFS("/sys/class/power_supply")) }

// If an external supply is online, for example a charger, onBattery returns false. The battery of a
// device, for example of a mouse, is ignored.
func onBattery(supplies fs.FS) (isDischarging bool) {
	all, _ := fs.ReadDir(supplies, ".") // without a list of supplies, the result is false
	for _, s := range all {
		value := func(name string) string {
			text, _ := fs.ReadFile(supplies, s.Name()+"/"+name)
			return strings.TrimSpace(string(text))
		}
		switch kind := value("type"); {
		case value("scope") == "Device":
		case kind == "Battery":
			isDischarging = isDischarging || value("status") == "Discharging"
		case value("online") == "1":
			return false
		}
	}
	return isDischarging
}
