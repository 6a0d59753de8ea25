// Command magicctx-host keeps coding agent sessions alive: it rewrites their
// message arrays so that the prompt fits the window and stays cached. Harness
// plugins start it and speak to it; people use its status and replay commands.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/alecthomas/kong"

	"github.com/magicctx/magicctx-host/rpc"
)

// Exit codes.
const (
	exitOK     = 0
	exitFailed = 1
	exitUsage  = 2
	// exitNoHost is status when no host is running.
	exitNoHost = 3
)

func main() {
	ctx, stop := signalled()
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr, newHost))
}

// signalled returns a context that ends when the process is told to.
func signalled() (context.Context, context.CancelFunc) {
	return signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
}

// A hostBuilder opens the store in the data directory and puts the host
// together. closeHost stops background work and closes the store; it is called
// after the last call to the host.
type hostBuilder func(context.Context, hostOptions) (h rpc.Host, closeHost func(), err error)

// hostOptions are what a host is built from.
type hostOptions struct {
	DataDir string // absolute; exists
	Log     *slog.Logger
}

// cli is the command line.
type cli struct {
	Version  kong.VersionFlag `help:"Print the version and exit."`
	LogLevel slog.Level       `help:"Log level: debug, info, warn or error." default:"info" env:"MAGICCTX_LOG_LEVEL"`

	Serve  serveCmd  `cmd:"" help:"Serve harnesses over a socket until the last one has left."`
	Stdio  stdioCmd  `cmd:"" help:"Speak the protocol on stdin and stdout. Harness plugins start this."`
	Status statusCmd `cmd:"" help:"Show what the running host is doing."`
	Doctor doctorCmd `cmd:"" help:"Look for what is wrong with this installation, and repair it."`
	Replay replayCmd `cmd:"" help:"Run a recorded session again and report what it did to cache and bill."`
	Schema schemaCmd `cmd:"" help:"Print a JSON Schema."`

	Install   installCmd   `cmd:"" help:"Add the plugin to a harness's configuration."`
	Uninstall uninstallCmd `cmd:"" help:"Undo install."`
}

// streams are what a command reads and writes.
type streams struct {
	in       io.Reader
	out, err io.Writer
}

// An exitError carries an exit code. Its message, if any, is for stderr.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string { return e.err.Error() }
func (e *exitError) Unwrap() error { return e.err }

// run is the program: it returns the exit code.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer, build hostBuilder) (code int) {
	// kong ends the process for --help and --version; we end the function.
	type exit int
	defer func() {
		if p := recover(); p != nil {
			e, ok := p.(exit)
			if !ok {
				panic(p)
			}
			code = int(e)
		}
	}()

	var c cli
	parser, err := kong.New(&c,
		kong.Name("magicctx-host"),
		kong.Description("Keeps coding agent sessions alive beyond the model's window."),
		kong.Vars{"version": rpc.Version},
		kong.Writers(stdout, stderr),
		kong.Exit(func(code int) { panic(exit(code)) }),
		kong.UsageOnError(),
		kong.BindTo(ctx, (*context.Context)(nil)),
		kong.Bind(&c, streams{stdin, stdout, stderr}, build),
	)
	if err != nil {
		fmt.Fprintln(stderr, "magicctx-host:", err)
		return exitFailed
	}
	command, err := parser.Parse(args)
	if err != nil {
		fmt.Fprintf(stderr, "magicctx-host: %v\nTry magicctx-host --help.\n", err)
		return exitUsage
	}
	if err := command.Run(); err != nil {
		fmt.Fprintln(stderr, "magicctx-host:", err)
		var e *exitError
		if errors.As(err, &e) {
			return e.code
		}
		return exitFailed
	}
	return exitOK
}
