package power

import (
	"testing"
	"testing/fstest"
)

func TestOnBattery(t *testing.T) {
	for name, c := range map[string]struct {
		files map[string]string
		want  bool
	}{
		"a machine without supplies": {nil, false},
		"a laptop on its battery":    {map[string]string{"AC/type": "Mains", "AC/online": "0", "BAT0/type": "Battery", "BAT0/status": "Discharging"}, true},
		"a laptop on mains":          {map[string]string{"AC/type": "Mains", "AC/online": "1", "BAT0/type": "Battery", "BAT0/status": "Charging"}, false},
		// A weak charger feeds the machine together with its battery.
		"a weak charger":  {map[string]string{"BAT0/type": "Battery", "BAT0/status": "Discharging", "usb/type": "USB", "usb/online": "1"}, false},
		"a full battery":  {map[string]string{"BAT0/type": "Battery", "BAT0/status": "Full"}, false},
		"two batteries":   {map[string]string{"BAT0/type": "Battery", "BAT0/status": "Full", "BAT1/type": "Battery", "BAT1/status": "Discharging"}, true},
		"a mouse":         {map[string]string{"m/type": "Battery", "m/scope": "Device", "m/status": "Discharging"}, false},
		"an unknown kind": {map[string]string{"BAT0/type": "Battery", "BAT0/status": "Unknown"}, false},
	} {
		files := fstest.MapFS{}
		for path, text := range c.files {
			files[path] = &fstest.MapFile{Data: []byte(text + "\n")}
		}
		if got := onBattery(files); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
