package watch

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/magicctx/magicctx-host/cmd/magicctx-host/observer"
	"github.com/magicctx/magicctx-host/internal/view"
)

type Options struct {
	// Follow calls the function `tell` with each report about the host, until ctx ends.
	Follow func(ctx context.Context, tell func(observer.News))
	Dir    string
	// The width in Page is not used, because the screen asks the terminal for its size.
	Page view.Page
	// Choice says which sessions show at the start.
	Choice view.Choice
}

func (o Options) live() view.Live {
	return view.Live{Away: "looking for the host", AwaySince: o.Page.Now, Color: o.Page.Color, ASCII: o.Page.ASCII, Program: o.Page.Program, Choice: o.Choice}
}

// Each frame per second costs about 0.03 % of a core, even if nothing changes on the screen. Six frames are cheap
// enough.
const framesPerSecond = 6

// Screen shows on the terminal `out` what the host is doing, until ctx ends or the user quits. If `in` is nil, Screen
// reads no keys.
func Screen(ctx context.Context, o Options, in, out *os.File) error {
	ctx, stop := context.WithCancel(ctx)
	input := tea.WithInput(nil)
	if in != nil {
		input = tea.WithInput(in)
	}
	program := tea.NewProgram(model{ctx: ctx, dir: o.Dir, live: o.live(), width: 80, height: 24}, input, tea.WithOutput(out), tea.WithFPS(framesPerSecond), tea.WithoutSignalHandler())
	context.AfterFunc(ctx, program.Quit)
	followed := make(chan struct{})
	go func() {
		defer close(followed)
		o.Follow(ctx, func(n observer.News) { program.Send(n) })
	}()
	_, err := program.Run()
	stop()
	<-followed
	if err != nil {
		return fmt.Errorf("draw on the terminal: %w", err)
	}
	return nil
}

type model struct {
	ctx           context.Context
	dir           string
	live          view.Live
	width, height int
	asked         int // the number of pages that were asked for
}

type second struct{}

type answer struct {
	asked int
	page  view.TextPage
}

func everySecond() tea.Cmd { return tea.Tick(time.Second, func(time.Time) tea.Msg { return second{} }) }

func (m model) Init() tea.Cmd { return everySecond() }

func (m model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case observer.News:
		m.live = m.live.Heard(msg.Status, msg.Away, time.Now())
	case second:
		return m, everySecond()
	case tea.WindowSizeMsg:
		m.width, m.height = msg.Width, msg.Height
	case answer:
		if msg.asked == m.asked && m.live.Page != nil {
			m.live.Page = &msg.page
		}
	case tea.PasteMsg:
		if m.live.Choice.Typing != view.TypesNothing {
			m.live, _ = m.live.Pressed("", msg.Content, 0)
		}
	case tea.KeyPressMsg:
		return m.pressed(msg)
	}
	return m, nil
}

func (m model) pressed(key tea.KeyPressMsg) (tea.Model, tea.Cmd) {
	if key.String() == "ctrl+z" {
		return m, tea.Suspend
	}
	_, below := view.Screen(m.live, m.width, m.height, time.Now())
	var action view.Action
	m.live, action = m.live.Pressed(key.String(), key.Text, below)
	switch action {
	case view.NoAction:
		return m, nil
	case view.Quit:
		return m, tea.Quit
	}
	title, args := m.command(action)
	if len(args) == 0 {
		m.live.Page = &view.TextPage{Title: title, Text: "No session is selected."}
		return m, nil
	}
	m.asked++
	m.live.Page = &view.TextPage{Title: title, Text: "Reading …"}
	asked := m.asked
	return m, func() tea.Msg { return answer{asked, view.TextPage{Title: title, Text: m.output(args)}} }
}

// The method `command` returns the command line that carries out an action, and a title for its output. If the action
// needs a session and none is selected, `args` is nil.
func (m model) command(action view.Action) (title string, args []string) {
	args = []string{"--data-dir", m.dir}
	switch action {
	case view.Spent:
		return "Spend", append([]string{"spend"}, args...)
	case view.Find:
		return "Found: " + m.live.Choice.Query, append(append([]string{"search"}, args...), "--", m.live.Choice.Query)
	}
	st := m.live.Chosen()
	switch action {
	case view.Memories:
		if st != nil && st.Directory != "" {
			args = append(args, "--project", st.Directory)
		}
		return "Memories", append([]string{"memory", "list"}, args...)
	case view.Dropped:
		title, args = "No longer sent", append([]string{"status", "--dropped"}, args...)
	case view.Summaries:
		title, args = "Summaries", append([]string{"history", "show"}, args...)
	}
	if st == nil {
		return title, nil
	}
	return title, append(args, "--harness", string(st.Harness), "--", st.Session)
}

const patience = 30 * time.Second

func (m model) output(args []string) string {
	ctx, cancel := context.WithTimeout(m.ctx, patience)
	defer cancel()
	self, err := os.Executable()
	if err != nil {
		return err.Error()
	}
	cmd := exec.CommandContext(ctx, self, args...)
	cmd.Args[0] = os.Args[0]
	cmd.Env = append(os.Environ(), fmt.Sprintf("COLUMNS=%d", m.width))
	out, err := cmd.CombinedOutput()
	text := strings.TrimSpace(string(out))
	if ctx.Err() != nil {
		return fmt.Sprintf("No answer came within %s.", patience)
	}
	if text == "" && err != nil {
		text = err.Error()
	}
	return strings.Replace(text, "magicctx-host: ", "This cannot be shown: ", 1)
}

func (m model) View() tea.View {
	drawn, _ := view.Screen(m.live, m.width, m.height, time.Now())
	v := tea.NewView(drawn)
	v.AltScreen = true
	return v
}
