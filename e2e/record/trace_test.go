package main

import (
	"os"
	"strings"
	"testing"

	"github.com/magicctx/magicctx-host/e2e/stage"
)

func TestTraceNamesNoPathOfThisMachine(t *testing.T) {
	r := recording{root: "/tmp/mcx1/long", product: stage.Product{Repo: "/somewhere/magicctx"}}
	trace := `{"directory":"/tmp/mcx1/long/project","a":"/tmp/mcx1/long/project/x.go","b":"/tmp/mcx1/long/home/data","c":"/somewhere/magicctx/adapters"}`
	want := `{"directory":"/project","a":"/project/x.go","b":"/home/user/home/data","c":"/home/user/magicctx-host/adapters"}`
	if got := string(r.scrub([]byte(trace))); got != want {
		t.Errorf("\n got %s\nwant %s", got, want)
	}
	r.summarises = true
	if got, want := string(r.scrub([]byte(trace))), strings.ReplaceAll(want, "/project", "/tmp/mcx1/long/project"); got != want {
		t.Errorf("with a historian\n got %s\nwant %s", got, want)
	}
	if home, err := os.UserHomeDir(); err == nil && home != "/" {
		if got := string(r.scrub([]byte(home + "/.config"))); strings.Contains(got, home) && home != scrubbedHome {
			t.Errorf("the home directory is left in %s", got)
		}
	}
}
