package power

import (
	"context"
	"os/exec"
	"strings"
	"time"
)

func OnBattery(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, "/usr/bin/pmset", "-g", "batt").Output()
	return err == nil && strings.Contains(string(out), "'Battery Power'")
}
