package manual

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// Complete writes a completion script for bash, zsh or fish.
func Complete(w io.Writer, shell string, app *kong.Application) error {
	switch shell {
	case "bash":
		return completeBash(w, app)
	case "zsh":
		return completeZsh(w, app)
	default:
		return completeFish(w, app)
	}
}

func commandsOf(app *kong.Application) (all []*kong.Node) {
	for _, n := range app.Children {
		if !n.Hidden {
			all = append(all, n)
		}
	}
	return all
}

// The function `words` returns the subcommands and flags of a command, and the fixed values of its arguments.
func words(n *kong.Node) (all []string) {
	for _, sub := range commandsIn(n) {
		all = append(all, sub.Name)
	}
	for _, f := range flagsOf(n) {
		all = append(all, "--"+f.Name)
	}
	for _, p := range n.Positional {
		all = append(all, choices(p)...)
	}
	return all
}

func commandsIn(n *kong.Node) (all []*kong.Node) {
	for _, sub := range n.Children {
		if sub.Type == kong.CommandNode && !sub.Hidden {
			all = append(all, sub)
		}
	}
	return all
}

// Each name occurs once.
func flagsOf(n *kong.Node) (all []*kong.Flag) {
	for _, f := range n.Flags {
		if !f.Hidden {
			all = append(all, f)
		}
	}
	for _, sub := range commandsIn(n) {
		for _, f := range flagsOf(sub) {
			if !slices.ContainsFunc(all, func(known *kong.Flag) bool { return known.Name == f.Name }) {
				all = append(all, f)
			}
		}
	}
	return all
}

func namesOf(nodes []*kong.Node) (names []string) {
	for _, n := range nodes {
		names = append(names, n.Name)
	}
	return names
}

// The function `leaves` returns the commands that have no subcommands. It descends into the subcommands of all other
// commands.
func leaves(nodes []*kong.Node) (all []*kong.Node) {
	for _, n := range nodes {
		if subs := commandsIn(n); len(subs) > 0 {
			all = append(all, leaves(subs)...)
		} else {
			all = append(all, n)
		}
	}
	return all
}

// choices returns nil if any value is allowed.
func choices(v *kong.Value) (all []string) {
	for _, word := range strings.Split(v.Enum, ",") {
		if word = strings.TrimSpace(word); word != "" {
			all = append(all, word)
		}
	}
	return all
}

func completeBash(w io.Writer, app *kong.Application) error {
	var b strings.Builder
	names := namesOf(commandsOf(app))
	fmt.Fprintf(&b, "# bash completion for %[1]s\n_magicctx_host() {\n  local words cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}\n", app.Name)
	fmt.Fprintf(&b, "  if [ \"$COMP_CWORD\" -eq 1 ]; then words=%q\n  else case ${COMP_WORDS[1]} in\n", strings.Join(names, " ")+" --help --version")
	for _, n := range commandsOf(app) {
		fmt.Fprintf(&b, "    %s) words=%q\n", n.Name, strings.Join(append(words(n), "--help"), " "))
		for _, f := range flagsOf(n) {
			if values := choices(f.Value); len(values) > 0 {
				fmt.Fprintf(&b, "      [ \"$prev\" = --%s ] && words=%q\n", f.Name, strings.Join(values, " "))
			}
		}
		b.WriteString("      ;;\n")
	}
	fmt.Fprintf(&b, "  esac; fi\n  COMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n}\ncomplete -o default -F _magicctx_host %s\n", app.Name)
	_, err := io.WriteString(w, b.String())
	return err
}

func completeZsh(w io.Writer, app *kong.Application) error {
	var b strings.Builder
	fmt.Fprintf(&b, "#compdef %s\nlocal -a commands\ncommands=(\n", app.Name)
	for _, n := range commandsOf(app) {
		fmt.Fprintf(&b, "  %s\n", quote(n.Name+":"+n.Help))
	}
	b.WriteString(")\nif (( CURRENT == 2 )); then _describe command commands; return; fi\ncase $words[2] in\n")
	for _, n := range commandsOf(app) {
		fmt.Fprintf(&b, "  %s) _arguments '--help'", n.Name)
		for _, f := range flagsOf(n) {
			spec := "--" + f.Name + "[" + bracketless(f.Help) + "]"
			switch values := choices(f.Value); {
			case len(values) > 0:
				spec += ":value:(" + strings.Join(values, " ") + ")"
			case !f.IsBool():
				spec += ":value:_files"
			}
			b.WriteString(" " + quote(spec))
		}
		if names := namesOf(commandsIn(n)); len(names) > 0 {
			b.WriteString(" " + quote("2:command:("+strings.Join(names, " ")+")"))
		}
		for _, p := range n.Positional {
			if values := choices(p); len(values) > 0 {
				b.WriteString(" " + quote("*:"+p.Name+":("+strings.Join(values, " ")+")"))
			} else {
				b.WriteString(" " + quote("*:"+p.Name+":_files"))
			}
		}
		b.WriteString(" ;;\n")
	}
	b.WriteString("esac\n")
	_, err := io.WriteString(w, b.String())
	return err
}

func completeFish(w io.Writer, app *kong.Application) error {
	var b strings.Builder
	fmt.Fprintf(&b, "complete -c %s -f -n __fish_use_subcommand -l help\n", app.Name)
	for _, n := range commandsOf(app) {
		fmt.Fprintf(&b, "complete -c %s -f -n __fish_use_subcommand -a %s -d %s\n", app.Name, n.Name, quote(n.Help))
		in := fmt.Sprintf("complete -c %s -n '__fish_seen_subcommand_from %s'", app.Name, n.Name)
		for _, f := range flagsOf(n) {
			fmt.Fprintf(&b, "%s -l %s -d %s", in, f.Name, quote(f.Help))
			switch values := choices(f.Value); {
			case len(values) > 0:
				fmt.Fprintf(&b, " -x -a %s", quote(strings.Join(values, " ")))
			case !f.IsBool():
				b.WriteString(" -r")
			}
			b.WriteString("\n")
		}
		for _, sub := range commandsIn(n) {
			fmt.Fprintf(&b, "%s -f -a %s -d %s\n", in, sub.Name, quote(sub.Help))
		}
		for _, p := range n.Positional {
			if values := choices(p); len(values) > 0 {
				fmt.Fprintf(&b, "%s -f -a %s\n", in, quote(strings.Join(values, " ")))
			}
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func quote(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

// The function `bracketless` replaces characters that have a special meaning in a description for zsh.
func bracketless(text string) string {
	return strings.NewReplacer("[", "(", "]", ")", ":", ";").Replace(text)
}

func Page(w io.Writer, app *kong.Application) error {
	var b strings.Builder
	fmt.Fprintf(&b, ".TH %s 1\n.SH NAME\n%s \\- %s\n.SH SYNOPSIS\n.B %s\n.I command\n.RI [ flags ]\n.SH COMMANDS\n",
		strings.ToUpper(app.Name), app.Name, roff(app.Help), app.Name)
	for _, n := range leaves(commandsOf(app)) {
		fmt.Fprintf(&b, ".SS %s\n%s\n", roff(strings.TrimPrefix(n.Summary(), app.Name+" ")), roff(n.Help))
		if n.Detail != "" {
			fmt.Fprintf(&b, ".PP\n%s\n", roff(n.Detail))
		}
		for _, p := range n.Positional {
			fmt.Fprintf(&b, ".TP\n.I %s\n%s\n", roff(p.Name), roff(p.Help))
		}
		for _, f := range flagsOf(n) {
			fmt.Fprintf(&b, ".TP\n.B %s\n%s\n", roff("--"+f.Name), roff(f.Help))
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func roff(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`, "\n", " ").Replace(text)
	if strings.HasPrefix(text, ".") || strings.HasPrefix(text, "'") {
		text = `\&` + text
	}
	return text
}
