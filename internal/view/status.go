package view

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/magicctx/magicctx-host/internal/format"
	"github.com/magicctx/magicctx-host/schema"
)

// PrintStatus prints the status of the host with all its sessions.
func PrintStatus(w io.Writer, st schema.StatusResult, now time.Time) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "host\t%s, process %d, up %s, %s of memory\n", format.Clean(st.Version), st.PID, format.AgeOf(st.StartedAt, now), format.Bytes(st.MemoryBytes))
	fmt.Fprintf(t, "store\t%s, schema %d, %s\n", format.Clean(st.Database), st.StoreSchema, format.Bytes(st.StoreBytes))
	if !st.Enabled {
		fmt.Fprintf(t, "disabled\t%s\n", format.Clean(st.Reason))
	}
	for _, w := range st.Warnings {
		fmt.Fprintf(t, "warning\t%s\n", format.Clean(w.Message))
	}
	for _, c := range st.Clients {
		fmt.Fprintf(t, "client\t%s %s, process %d\n", format.Clean(c.Client), format.Clean(c.Version), c.PID)
		for _, d := range c.Directories {
			fmt.Fprintf(t, "\t%s\n", format.Clean(d))
		}
	}
	if err := t.Flush(); err != nil || len(st.Sessions) == 0 {
		return err
	}
	fmt.Fprintln(t, "\nSESSION\tMODEL\tPRESSURE\tTOKENS\tWINDOW\tHITS\tPASSES\tBUSTS\tLAST\tAGO")
	for _, s := range st.Sessions {
		last := string(s.LastVerdict)
		if s.LastCause != "" {
			last += " (" + format.Clean(s.LastCause) + ")"
		}
		fmt.Fprintf(t, "%s/%s\t%s/%s\t%s\t%d\t%s\t%s\t%d\t%d\t%s\t%s\n",
			s.Harness, format.Clean(s.Session), format.Clean(s.Model.Provider), format.Clean(s.Model.ID), percentOf(s), s.InputTokens, shortWindowOf(s), hitOf(s),
			s.Passes, s.Busts, cmp.Or(last, "-"), format.AgeOf(s.LastPassAt, now))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if err := printContents(w, st.Sessions); err != nil {
		return err
	}
	return printCacheLives(w, st.Sessions)
}

// printCacheLives prints how long the cached prefixes of each model live, with the reason.
func printCacheLives(w io.Writer, sessions []schema.SessionStatus) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	told := map[string]bool{}
	for _, s := range sessions {
		line := format.Clean(s.Model.Provider) + "/" + format.Clean(s.Model.ID) + "\tcache life " + cacheLifeOf(s)
		if s.CacheLifeReason == "" || told[line] {
			continue
		}
		if len(told) == 0 {
			fmt.Fprintln(t)
		}
		told[line] = true
		fmt.Fprintln(t, line)
	}
	return t.Flush()
}

// printContents prints for each session which sources its context consists of.
func printContents(w io.Writer, sessions []schema.SessionStatus) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	var names []string
	for _, part := range sources(schema.TokensBySource{}) {
		names = append(names, strings.ToUpper(part.name))
	}
	fmt.Fprintf(t, "\n%s\tDROPPED\tQUEUED\t  SESSION, BUSTS BY CAUSE\n", strings.Join(names, "\t"))
	for _, s := range sessions {
		for _, part := range sources(s.Tokens) {
			fmt.Fprintf(t, "%s\t", format.Tokens(part.tokens))
		}
		name := fmt.Sprintf("%s/%s", s.Harness, format.Clean(s.Session))
		if causes := causesOf(s); causes != "" {
			name += ": " + causes
		}
		fmt.Fprintf(t, "%s\t%d\t  %s\n", format.Tokens(s.Tokens.Dropped), s.Queued, name)
	}
	return t.Flush()
}
