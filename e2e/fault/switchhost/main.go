package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"time"
)

const (
	behaviourFile = "SWITCHHOST_FILE" // the file with the behaviour
	realHost      = "SWITCHHOST_REAL" // the path of the real binary
)

func main() {
	raw, err := os.ReadFile(os.Getenv(behaviourFile))
	if err != nil {
		fmt.Fprintln(os.Stderr, "switchhost:", err)
		os.Exit(1)
	}
	switch behaviour := strings.TrimSpace(string(raw)); behaviour {
	case "real":
		os.Exit(runReal())
	case "hang":
		if isAskedForVersion() {
			time.Sleep(time.Hour)
		}
		// The hanging host ignores the end of stdin. It runs until it is killed.
		pid := strconv.Itoa(os.Getpid())
		if err := os.WriteFile(os.Getenv(behaviourFile)+".pid", []byte(pid), 0o600); err != nil {
			fmt.Fprintln(os.Stderr, "switchhost:", err)
		}
		time.Sleep(time.Hour)
	case "garbage":
		fmt.Print(strings.Repeat("Segmentation fault\r\n\r\n", 100))
		_, _ = io.Copy(io.Discard, os.Stdin)
	case "crash":
		fmt.Fprintln(os.Stderr, "magicctx-host: the scripted crash")
		os.Exit(1)
	case "newer":
		if isAskedForVersion() {
			fmt.Println("9.0.0")
			return
		}
		answer(`"error":{"code":-32012,"message":"opencode-shim speaks protocol 1.0, magicctx-host 9.0.0 speaks 9.0: update opencode-shim"}`)
	case "older":
		if isAskedForVersion() {
			fmt.Println("0.4.0")
			return
		}
		answer(`"result":{"protocol":{"major":0,"minor":4},"hostVersion":"0.4.0","enabled":true}`)
	default:
		fmt.Fprintf(os.Stderr, "switchhost: no behaviour %q\n", behaviour)
		os.Exit(2)
	}
}

// doctor starts the program with --version. A plugin starts it with other arguments.
func isAskedForVersion() bool { return len(os.Args) == 2 && os.Args[1] == "--version" }

// Windows has no exec, so the real host runs as a child process with the same streams.
func runReal() int {
	signal.Ignore(os.Interrupt)
	cmd := exec.CommandContext(context.Background(), os.Getenv(realHost), os.Args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	if err := cmd.Run(); err != nil {
		return max(cmd.ProcessState.ExitCode(), 1)
	}
	return 0
}

func answer(with string) {
	in := bufio.NewReader(os.Stdin)
	for id := 1; ; id++ {
		length := 0
		for {
			line, err := in.ReadString('\n')
			if err != nil {
				return
			}
			if line = strings.TrimSpace(line); line == "" {
				break
			}
			_, _ = fmt.Sscanf(line, "Content-Length: %d", &length)
		}
		if _, err := in.Discard(length); err != nil {
			return
		}
		body := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,%s}`, id, with)
		fmt.Printf("Content-Length: %d\r\n\r\n%s", len(body), body)
	}
}
