package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/magicctx/magicctx-host/cmd/magicctx-host/terminal"
	"github.com/magicctx/magicctx-host/internal/bundle"
	"github.com/magicctx/magicctx-host/internal/format"
	"github.com/magicctx/magicctx-host/internal/indexing"
	"github.com/magicctx/magicctx-host/internal/install"
	"github.com/magicctx/magicctx-host/internal/program"
	"github.com/magicctx/magicctx-host/schema"
)

type placeFlags struct {
	dataDirFlag
	Harness string `arg:"" enum:"${programs}" help:"The harness: ${enum}."`
	Global  bool   `xor:"place" help:"Edit the user's configuration (default)."`
	Project bool   `xor:"place" help:"Edit the configuration of the project in the current directory."`
	DryRun  bool   `help:"Show the change and make none."`
	Yes     bool   `short:"y" help:"Make the change without asking."`
}

func (f placeFlags) harness() *install.Harness { return install.HarnessOf(schema.Harness(f.Harness)) }

func (f placeFlags) place() (install.Place, error) {
	dataDir, err := f.resolve()
	p := install.Place{Harness: f.harness(), Env: os.Getenv, DataDir: dataDir}
	if err != nil || !f.Project {
		return p, err
	}
	p.Project, err = os.Getwd()
	return p, err
}

type installCmd struct {
	placeFlags
	Plugin string `help:"Shim to install: a file, a directory or an npm package. By default the one that this program carries." placeholder:"PATH"`
}

func (installCmd) Help() string {
	return "For OpenCode, adds the plugin to opencode.json(c), switches OpenCode's own compaction off there, and adds the panel to tui.json(c). For Pi, adds the plugin to the packages in settings.json. " +
		"Offers a magicctx.jsonc with all settings as comments. Comments and formatting stay. A copy is kept in the data directory; uninstall puts it back."
}

func (cmd *installCmd) Run(ctx context.Context, s streams) error {
	place, err := cmd.place()
	if err != nil {
		return err
	}
	options := install.Options{Place: place}
	if cmd.Plugin != "" {
		options.Plugin, err = place.PluginSpec(cmd.Plugin)
	} else {
		options.Shim, err = carriedShim(place)
	}
	if err != nil {
		return err
	}
	plan, err := install.Install(ctx, options)
	if err != nil {
		return err
	}
	if plan.IsEmpty() {
		_, err := fmt.Fprintf(s.out, "magicctx is installed in %s already; nothing to do.\n", format.Clean(plan.File))
		return err
	}
	if !cmd.Project {
		plan.Notes = append(plan.Notes, conflictsHere(ctx, place)...)
	}
	answers := bufio.NewReader(s.in)
	if err := cmd.carryOut(ctx, s, answers, plan, fmt.Sprintf("Installed. Restart %s to load the plugin%s.", place.Harness.Name, place.Harness.RestartNote)); err != nil || cmd.DryRun {
		return err
	}
	if err := cmd.offerImport(ctx, s, answers, place.DataDir); err != nil {
		return err
	}
	return cmd.offerIndex(ctx, s, answers, place.DataDir)
}

func (cmd *installCmd) offerImport(ctx context.Context, s streams, answers *bufio.Reader, dir string) error {
	importer := importerTo(dir)
	n, err := importer.Found(ctx)
	if err != nil {
		printUnread(s, "the TypeScript plugin", err)
		return nil
	}
	return cmd.offer(ctx, s, answers, n, fmt.Sprintf("Take over %s of the TypeScript plugin (memories, notes, summaries, commits)?", format.Count(n, "row")),
		"They stay there. Later, magicctx-host import takes them over.",
		func() error { return (&importCmd{outputFlags: outputFlags{dataDirFlag: cmd.dataDirFlag}}).Run(ctx, s) })
}

// offerIndex offers to index the sessions that are already on this machine, so that a search finds something on the
// first day.
func (cmd *installCmd) offerIndex(ctx context.Context, s streams, answers *bufio.Reader, dir string) error {
	sources, err := storedSessions.List(ctx, func(string, error) {}) // indexSessions names what cannot be read
	if err != nil {
		return err
	}
	n := 0
	for _, source := range sources {
		n += len(source.Sessions)
	}
	if known := indexing.SessionsIn(ctx, dir); known >= n { // they were indexed when the other harness was installed
		return nil
	}
	return cmd.offer(ctx, s, answers, n, fmt.Sprintf("Index the %s on this machine now, so that you and the model can search in them?", format.Count(n, "older session")),
		"They stay unread. Later, "+program.Name()+" index reads them.", func() error { return indexSessions(ctx, s, dir) })
}

func (cmd *installCmd) offer(ctx context.Context, s streams, answers *bufio.Reader, n int, question, later string, do func() error) error {
	if n == 0 {
		return nil
	}
	if !cmd.Yes {
		yes, err := ask(ctx, s.out, answers, question)
		if err != nil {
			return err
		}
		if !yes {
			_, err := fmt.Fprintln(s.out, later)
			return err
		}
	}
	return do()
}

// conflictsHere returns a note for each conflict that exists only in the current project. Such a conflict does not stop
// an installation for all projects, so install only prints the note.
func conflictsHere(ctx context.Context, place install.Place) (notes []string) {
	project, err := os.Getwd()
	if err != nil {
		return nil
	}
	place.Project = project
	found, err := install.Conflicts(ctx, place)
	if err != nil { // the harness cannot read the project's file either
		return nil
	}
	for _, c := range found {
		notes = append(notes, fmt.Sprintf("Not in this project: %s: %s; magicctx cannot work beside it. To solve it, %s.", c.Where, c.Problem, c.Remedy))
	}
	return notes
}

var carried = map[schema.Harness]install.Shim{
	schema.HarnessOpenCode: {
		Bundle: bundle.OpenCode, Loader: bundle.OpenCodeProject,
		Terminal: bundle.OpenCodeTerminal, TerminalLoader: bundle.OpenCodeProjectTerminal,
	},
	schema.HarnessPi: {Bundle: bundle.Pi, Loader: bundle.PiProject},
}

// carriedShim returns the plugin that is embedded in this program. The plugin is set up to start this program as its
// host.
func carriedShim(place install.Place) (install.Shim, error) {
	executable, err := os.Executable()
	if err != nil {
		return install.Shim{}, fmt.Errorf("find this program: %w", err)
	}
	invoked, err := exec.LookPath(os.Args[0])
	if err == nil {
		invoked, err = filepath.Abs(invoked)
	}
	if err != nil {
		invoked = executable
	}
	s := carried[place.Harness.ID]
	return s, s.UseHost(place, executable, invoked)
}

type uninstallCmd struct {
	placeFlags
}

func (uninstallCmd) Help() string {
	return "Gives the harness's configuration its former bytes back. If you have edited the file since, only what install added is removed."
}

func (cmd *uninstallCmd) Run(ctx context.Context, s streams) error {
	place, err := cmd.place()
	if err != nil {
		return err
	}
	plan, err := install.Uninstall(ctx, place)
	if errors.Is(err, install.ErrNotInstalled) {
		_, err := fmt.Fprintln(s.out, "magicctx is not installed here; nothing to do.")
		return err
	}
	if err != nil {
		return err
	}
	plan.Notes = append(plan.Notes, farewell(ctx, place)...)
	if err := cmd.carryOut(ctx, s, bufio.NewReader(s.in), plan, fmt.Sprintf("Removed. Restart %s to unload the plugin%s.", place.Harness.Name, place.Harness.RestartNote)); err != nil || cmd.DryRun || cmd.Project {
		return err
	}
	return removeMarkers(ctx, s, place.Harness)
}

// OpenCode leaves out all messages before a session's newest marker, so uninstall must remove the markers.
func removeMarkers(ctx context.Context, s streams, harness *install.Harness) error {
	m := harnessMarkers()[harness.ID]
	if m == nil {
		return nil
	}
	n, err := m.RemoveAll(ctx)
	if err != nil {
		return fmt.Errorf("the plugin is removed, but compaction markers may be left in the sessions of %s; uninstall again to remove them: %w", harness.Name, err)
	}
	if n > 0 {
		_, err = fmt.Fprintf(s.out, "Removed %d compaction markers.\n", n)
	}
	return err
}

func (f placeFlags) carryOut(ctx context.Context, s streams, answers *bufio.Reader, plan *install.Plan, done string) error {
	if diff := plan.Diff(terminal.WantsColor(s.out)); diff != "" {
		fmt.Fprint(s.out, diff)
	} else {
		fmt.Fprintf(s.out, "%s stays as it is.\n", format.Clean(plan.File))
	}
	isAsked := !f.DryRun && !f.Yes
	f.list(s.out, plan, func(e install.Effect) bool { return !isAsked || !e.IsOffered })
	for _, note := range plan.Notes {
		fmt.Fprintln(s.out, format.Clean(note))
	}
	if f.DryRun {
		_, err := fmt.Fprintln(s.out, "Nothing was changed.")
		return err
	}
	if isAsked {
		if err := f.confirm(ctx, s, answers, plan); err != nil {
			return err
		}
	}
	if err := plan.Apply(); err != nil {
		return err
	}
	if plan.Settings != nil {
		fmt.Fprintf(s.out, "Created %s.\n", format.Clean(plan.Settings.File))
	}
	_, err := fmt.Fprintln(s.out, done)
	return err
}

func (placeFlags) list(out io.Writer, plan *install.Plan, isListed func(install.Effect) bool) {
	for _, e := range plan.Effects() {
		if isListed(e) {
			fmt.Fprintf(out, "%s %s\n", e.Action, format.Clean(e.Path))
		}
	}
}

var (
	errNoTerminal = errors.New("nothing was changed: there is no terminal to ask on; add --yes to make the change, or --dry-run to see it only")
	errDeclined   = errors.New("nothing was changed")
)

// confirm asks the user about the change. If the installation also offers a new settings file, it asks a second
// question about this file.
func (f placeFlags) confirm(ctx context.Context, s streams, answers *bufio.Reader, plan *install.Plan) error {
	if !terminal.Is(s.in) {
		return errNoTerminal
	}
	yes, err := ask(ctx, s.out, answers, "Make this change?")
	if err != nil {
		return err
	}
	if !yes {
		return errDeclined
	}
	if plan.Settings == nil {
		return nil
	}
	f.list(s.out, plan, func(e install.Effect) bool { return e.IsOffered })
	yes, err = ask(ctx, s.out, answers, "Create the settings file too? It shows every setting as a comment, with its default.")
	if !yes {
		plan.Settings = nil
	}
	return err
}

// ask returns as soon as ctx ends. The program catches interrupts, so an interrupt ends ctx, but not the read from the
// terminal. ask therefore does not wait for this read.
func ask(ctx context.Context, out io.Writer, in *bufio.Reader, question string) (bool, error) {
	fmt.Fprintf(out, "%s [y/N] ", question)
	type answer struct {
		text string
		err  error
	}
	answered := make(chan answer, 1)
	go func() {
		text, err := in.ReadString('\n')
		answered <- answer{text, err}
	}()
	select {
	case <-ctx.Done():
		fmt.Fprintln(out)
		return false, errDeclined
	case a := <-answered:
		if a.err != nil && !errors.Is(a.err, io.EOF) {
			return false, a.err
		}
		switch strings.ToLower(strings.TrimSpace(a.text)) {
		case "y", "yes":
			return true, nil
		}
		return false, nil
	}
}
