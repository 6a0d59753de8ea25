package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/alecthomas/kong"

	"github.com/magicctx/magicctx-host/internal/format"
	"github.com/magicctx/magicctx-host/internal/install"
	"github.com/magicctx/magicctx-host/internal/rawhistory"
	"github.com/magicctx/magicctx-host/internal/search"
	"github.com/magicctx/magicctx-host/rpc"
	"github.com/magicctx/magicctx-host/schema"
	"github.com/magicctx/magicctx-host/store/file"
)

const (
	exitOK     = 0
	exitFailed = 1
	exitUsage  = 2
	// exitNotSearched is the exit code of search and why-forgot after an error. As in grep, exit code 1 means that
	// nothing was found.
	exitNotSearched = 2
	// exitNoHost is the exit code of status when no host is running.
	exitNoHost = 3
	// After a second signal, the exit code is exitSignal plus the number of the signal, as in a shell.
	exitSignal = 128
)

func main() {
	ctx, stop := signalled()
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr, newHost))
}

// The function `signalled` returns a context that the first signal cancels. A second signal ends the process at once,
// because some operations ignore their context, for example opening a pipe that has no writer.
func signalled() (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-signals
		cancel()
		if s, ok := (<-signals).(syscall.Signal); ok {
			os.Exit(exitSignal + int(s))
		}
		os.Exit(exitFailed)
	}()
	return ctx, func() {
		signal.Stop(signals)
		cancel()
	}
}

// A hostBuilder creates the host. The caller must call closeHost after its last call to the host. closeHost ends the
// background work and closes the store.
type hostBuilder func(context.Context, hostOptions) (p rpc.Provider, closeHost func(), err error)

type hostOptions struct {
	DataDir string // absolute, and it exists
	Log     *slog.Logger
}

type cli struct {
	ShowVersion kong.VersionFlag `name:"version" help:"Print the version and exit."`
	LogLevel    slog.Level       `help:"Log level: debug, info, warn or error." default:"info" env:"MAGICCTX_LOG_LEVEL"`

	Serve     serveCmd     `cmd:"" help:"Serve harnesses over a socket until the last one has left."`
	Stdio     stdioCmd     `cmd:"" help:"Speak the protocol on stdin and stdout. Harness plugins start this."`
	Status    statusCmd    `cmd:"" help:"Show what the running host is doing."`
	History   historyCmd   `cmd:"" help:"Show the summaries of sessions, and the messages that they cover."`
	Search    searchCmd    `cmd:"" help:"Search the messages of all sessions. The exit code is 1 without a hit, and 2 after an error."`
	WhyForgot whyForgotCmd `cmd:"" help:"Say when and why a message left the prompt, and what stands for it."`
	Index     indexCmd     `cmd:"" help:"Read all sessions on this machine, so that search finds them."`
	Import    importCmd    `cmd:"" help:"Take over the memories, notes, summaries and commits of the TypeScript plugin."`
	Memory    memoryCmd    `cmd:"" help:"Show what magicctx remembers about projects, and change it."`
	Workspace workspaceCmd `cmd:"" help:"Let projects see memories of each other."`
	Notes     notesCmd     `cmd:"" help:"Show what models have put off."`
	Spend     spendCmd     `cmd:"" help:"Show what magicctx's own questions to models have cost, and what came of them."`
	Dashboard dashboardCmd `cmd:"" help:"Show sessions, memories and costs on a page in the browser."`
	Doctor    doctorCmd    `cmd:"" help:"Look for what is wrong with this installation, and repair it."`
	Replay    replayCmd    `cmd:"" help:"Run a recorded session again and report what it did to cache and bill."`
	Compare   compareCmd   `cmd:"" help:"Compare what recorded sessions cost with magicctx, and what they would cost with the harness alone, which summarises when a prompt no longer fits."`
	Share     shareCmd     `cmd:"" help:"Write the report of a recorded session as a page for others, without names and texts."`
	Trace     traceCmd     `cmd:"" help:"Record sessions for replay, or stop that."`
	Schema    schemaCmd    `cmd:"" help:"Print a JSON Schema."`

	Install   installCmd   `cmd:"" help:"Add the plugin to a harness's configuration."`
	Uninstall uninstallCmd `cmd:"" help:"Undo install."`

	Version    versionCmd    `cmd:"" help:"Print the version."`
	Completion completionCmd `cmd:"" help:"Print a script that completes commands in a shell."`
	Man        manCmd        `cmd:"" hidden:"" help:"Print the manual page."`
}

type versionCmd struct{}

func (versionCmd) Run(s streams) error {
	_, err := fmt.Fprintln(s.out, rpc.Version)
	return err
}

type streams struct {
	in       io.Reader
	out, err io.Writer
}

// An exitError ends the program with an exit code. If err is set, its message is printed on stderr.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string { return e.err.Error() }
func (e *exitError) Unwrap() error { return e.err }

// run is the whole program.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer, build hostBuilder) (code int) {
	// For --help and --version, kong calls the function given to kong.Exit, which normally ends the process. In a test,
	// this would also end the test. So the function here panics with an `exit` value instead, and run returns the exit
	// code in it.
	type exit int
	defer func() {
		if p := recover(); p != nil {
			if e, ok := p.(exit); ok {
				code = int(e)
			} else if err := file.OutOfMemory(p); err != nil {
				printError(stderr, err)
				code = exitFailed
			} else {
				panic(p)
			}
		}
	}()

	var c cli
	parser, err := kong.New(&c,
		kong.Name("magicctx-host"),
		kong.Description("Keeps coding agent sessions alive beyond the model's window."),
		kong.Vars{"version": rpc.Version, "harnesses": harnessNames(schema.Harnesses), "readable": harnessNames(rawhistory.Readable), "programs": harnessNames(install.IDs()), "onlys": strings.Join(search.Onlys(), ",")},
		replayVars(),
		kong.Writers(stdout, stderr),
		kong.Exit(func(code int) { panic(exit(code)) }),
		kong.UsageOnError(),
		kong.BindTo(ctx, (*context.Context)(nil)),
		kong.Bind(&c, streams{stdin, stdout, stderr}, build),
	)
	if err != nil {
		printError(stderr, err)
		return exitFailed
	}
	if len(args) == 0 || args[0] == "help" { // many programs have a command help
		args = append(args[min(len(args), 1):], "--help")
	}
	command, err := parser.Parse(args)
	if err != nil {
		printError(stderr, errors.New(plainly.Replace(err.Error())))
		name := parser.Model.Name
		if e, ok := errors.AsType[*kong.ParseError](err); ok && e.Context.Selected() != nil {
			selected := e.Context.Selected()
			if selected == selected.Parent.DefaultCmd && !slices.Contains(args, selected.Name) {
				selected = selected.Parent // kong has chosen it, for example "memory list" for "memory frob"
			}
			name = selected.FullPath()
		}
		fmt.Fprintf(stderr, "Try %s --help.\n", name)
		return exitUsage
	}
	if err := command.Run(); err != nil {
		printError(stderr, err)
		var e *exitError
		if errors.As(err, &e) {
			return e.code
		}
		return exitFailed
	}
	return exitOK
}

// The replacer `plainly` rewrites kong's error messages for users. It replaces the names of Go types. It also removes
// the empty string from lists of choices, because the empty string only means that the flag is not given.
var plainly = strings.NewReplacer(
	` must be one of "",`, " must be one of ", "a valid 16 bit uint", "a whole number from 0 to 65535",
	"a valid 64 bit int", "a whole number", "uint value", "a whole number", "int value", "a whole number", "value value", "a value",
)

// An error may quote untrusted text, for example the name of a file, so printError removes control characters.
func printError(w io.Writer, err error) {
	fmt.Fprintln(w, "magicctx-host:", format.CleanLines(err.Error()))
}
