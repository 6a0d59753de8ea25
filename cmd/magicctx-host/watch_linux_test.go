package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func openTerminal(t *testing.T) (person, program *os.File) {
	t.Helper()
	person, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skipf("no terminal to be had: %v", err)
	}
	t.Cleanup(func() { person.Close() })
	raw, err := person.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	var number int
	controlErr := raw.Control(func(fd uintptr) {
		if err = unix.IoctlSetPointerInt(int(fd), unix.TIOCSPTLCK, 0); err != nil {
			return
		}
		if err = unix.IoctlSetWinsize(int(fd), unix.TIOCSWINSZ, &unix.Winsize{Row: 30, Col: 100}); err != nil {
			return
		}
		number, err = unix.IoctlGetInt(int(fd), unix.TIOCGPTN)
	})
	if controlErr != nil || err != nil {
		t.Skipf("no terminal to be had: %v, %v", controlErr, err)
	}
	program, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("no terminal to be had: %v", err)
	}
	t.Cleanup(func() { program.Close() })
	return person, program
}

// The output is read until it contains text.
func seen(t *testing.T, person *os.File, shown *bytes.Buffer, text string) {
	t.Helper()
	if err := person.SetReadDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 64<<10)
	for from := shown.Len(); !bytes.Contains(shown.Bytes()[from:], []byte(text)); {
		n, err := person.Read(buf)
		if err != nil {
			t.Fatalf("%q was not shown: %v\n%q", text, err, shown.Bytes()[from:])
		}
		shown.Write(buf[:n])
	}
}

func TestWatchOnATerminal(t *testing.T) {
	r := newRig(t)
	person, program := openTerminal(t)
	before, err := unix.IoctlGetTermios(int(program.Fd()), unix.TCGETS)
	if err != nil {
		t.Fatal(err)
	}
	stop := r.serve(newFake())
	code := make(chan int, 1)
	go func() {
		code <- run(t.Context(), []string{"status", "--watch", "--data-dir", r.dir}, program, program, io.Discard, nil)
	}()
	var shown bytes.Buffer
	seen(t, person, &shown, "▸ses_1")
	const enterScreen, leaveScreen = "\x1b[?1049h", "\x1b[?1049l" // xterm's alternate screen
	if !strings.Contains(shown.String(), enterScreen) {
		t.Errorf("began with %.20q", &shown)
	}
	stop()
	seen(t, person, &shown, "The host has been away")
	defer r.serve(newFake())()
	seen(t, person, &shown, "up ")

	for _, step := range []struct{ typed, shows string }{
		{"/q", "No session matches"}, // letters go into the filter, so q does not quit
		{"\r", "esc clears)"},
		{"\x1b", "ses_1"},
		{"s", "fullest"},
		{"?", "ctrl-c too"},
		{"\x1b", "ses_1"},
		{"\r", "MAGICCTX DID"},
	} {
		if _, err := person.WriteString(step.typed); err != nil {
			t.Fatal(err)
		}
		seen(t, person, &shown, step.shows)
	}
	r.pass("ses_1")
	seen(t, person, &shown, "13") // the number of the request
	if _, err := person.WriteString("xq"); err != nil {
		t.Fatal(err)
	}
	seen(t, person, &shown, leaveScreen)
	if got := <-code; got != exitOK {
		t.Errorf("exit code %d", got)
	}
	after, err := unix.IoctlGetTermios(int(program.Fd()), unix.TCGETS)
	if err != nil {
		t.Fatal(err)
	}
	if *after != *before {
		t.Errorf("the terminal was not restored: %+v, was %+v", after, before)
	}
}
