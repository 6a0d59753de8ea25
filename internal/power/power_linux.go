package power

import (
	"context"
	"io/fs"
	"os"
	"strings"
)

func OnBattery(context.Context) bool { return onBattery(os.DirFS("/sys/class/power_supply")) }

// If a supply from outside is online, for example a charger, the machine does not run on its battery. The
// battery of a device, for example of a mouse, does not count.
func onBattery(supplies fs.FS) (isDischarging bool) {
	all, _ := fs.ReadDir(supplies, ".") // if there is no list, no battery is known
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
