package fault

import (
	"errors"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/magicctx/magicctx-host/internal/doctor"
	"github.com/magicctx/magicctx-host/internal/json"
)

// explainLimit is far above the real waits. status waits 5 s for the host. doctor waits 5 s for the host, and 3 s for a
// program that should print its version.
const explainLimit = 20 * time.Second

type told struct{ out, err string }

func (s *scene) ask(args ...string) told {
	s.t.Helper()
	cmd := exec.CommandContext(s.ctx, product.Host, args...)
	cmd.Dir, cmd.Env = s.project, s.env
	var errs strings.Builder
	cmd.Stderr = &errs
	began := time.Now()
	out, err := cmd.Output()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		s.t.Error(err)
	}
	if elapsed := time.Since(began); elapsed > explainLimit {
		s.t.Errorf("%v took %v", args, elapsed)
	}
	return told{string(out), errs.String()}
}

// The method `explained` fails if the output of status lacks the text `status`, or if doctor does not report each of
// the findings together with a remedy. A finding is written as "check: part of the message".
func (s *scene) explained(status string, findings ...string) {
	s.t.Helper()
	var asked sync.WaitGroup
	var st told
	asked.Go(func() { st = s.ask("status") })
	found := s.findings()
	asked.Wait()
	// The output of status is wrapped at the width of the screen, so the test ignores line breaks.
	if !strings.Contains(strings.Join(strings.Fields(st.out+st.err), " "), status) {
		s.t.Errorf("status does not say %q:\n%s%s", status, st.out, st.err)
	}
	for _, want := range findings {
		check, message, _ := strings.Cut(want, ": ")
		says := func(f doctor.Finding) bool { return f.Check == check && strings.Contains(f.Message, message) }
		i := slices.IndexFunc(found, func(f doctor.Finding) bool { return says(f) && f.Level != doctor.OK })
		if i < 0 {
			s.t.Errorf("doctor does not say %q: %+v", want, found)
			continue
		}
		s.t.Logf("doctor: %s: %s → %s", found[i].Check, found[i].Message, found[i].Remedy)
		if found[i].Remedy == "" {
			s.t.Errorf("doctor has no remedy for %q", want)
		}
	}
}

// The method `meanwhile` calls `do` while status and doctor are waiting for a program that hangs.
func (s *scene) meanwhile(do func(), status string, findings ...string) {
	s.t.Helper()
	var asked sync.WaitGroup
	asked.Go(func() { s.explained(status, findings...) })
	defer asked.Wait()
	do()
}

func (s *scene) findings() []doctor.Finding {
	s.t.Helper()
	var report struct {
		Findings []doctor.Finding `json:"findings"`
	}
	asked := s.ask("doctor", "--json")
	if err := json.Unmarshal([]byte(asked.out), &report); err != nil {
		s.t.Errorf("doctor printed %q, %q: %v", asked.out, asked.err, err)
	}
	return report.Findings
}

// isWell fails if status or doctor reports a fault. The report that a damaged database was moved aside is no fault.
func (s *scene) isWell() {
	s.t.Helper()
	status, err := s.user.Status(s.ctx)
	must(s.t, err)
	if !status.Enabled || status.Reason != "" {
		s.t.Errorf("status: enabled %v, reason %q", status.Enabled, status.Reason)
	}
	for _, f := range s.findings() {
		if f.Level == doctor.Fail || f.Level == doctor.Warn && slices.Contains([]string{"program", "host", "permissions"}, f.Check) {
			s.t.Errorf("doctor finds %+v", f)
		}
	}
}

func (s *scene) socketIn(dir string) {
	s.t.Helper()
	want := "its socket in " + dir
	if found := s.findings(); !slices.ContainsFunc(found, func(f doctor.Finding) bool { return strings.HasSuffix(f.Message, want) }) {
		s.t.Errorf("doctor does not say %q: %+v", want, found)
	}
}
