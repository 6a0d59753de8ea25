package schema

// This file describes the head and the summarised history of a session.

// HeadStatus describes the head of a session's wire, that is, the messages that replace the oldest messages. Sizes are
// in tokens, as the host counts them.
type HeadStatus struct {
	// Epoch is the number of folds so far.
	Epoch int `json:"epoch"`
	// FoldPass is the newest pass that folded the head, and FoldedAt is its time (Unix ms). FoldReason says why the
	// pass folded, for example "idle".
	FoldPass   int    `json:"foldPass"`
	FoldedAt   int64  `json:"foldedAt"`
	FoldReason string `json:"foldReason"`
	// Folds counts the folds in the journal by reason, most frequent first.
	Folds []CauseCount `json:"folds,omitempty"`
	// Through is the ordinal of the newest covered message. Covered is the size of
	// the covered messages.
	Through int `json:"through"`
	Covered int `json:"covered"`
	// Baseline is the size of the baseline with its acknowledgement. Delta is the size of the message after them. If
	// that message only says that nothing was added, Delta is 0.
	Baseline int `json:"baseline"`
	Delta    int `json:"delta"`
	// Sections are the sections of the baseline.
	Sections HeadSections `json:"sections"`
	// InBaseline and InDelta count the compartments that the baseline and the delta show.
	InBaseline int `json:"inBaseline"`
	InDelta    int `json:"inDelta"`
	// Tiers counts the compartments of the baseline at tiers 1 to 4, and the archived
	// ones.
	Tiers []int `json:"tiers"`
}

// HeadSections are the sizes of the baseline's sections, in tokens.
type HeadSections struct {
	Docs         int `json:"docs,omitzero"`
	Compartments int `json:"compartments,omitzero"`
	Memories     int `json:"memories,omitzero"`
	KeyFiles     int `json:"keyFiles,omitzero"`
}

// HistoryStatus describes the summarised history of a session, and its historian.
type HistoryStatus struct {
	// Compartments is the number of compartments, and Extractive is the number of compartments that no model has
	// written. The compartments cover the messages 1 to Covered. RawTokens is the size of these messages.
	Compartments int `json:"compartments"`
	Extractive   int `json:"extractive,omitzero"`
	Covered      int `json:"covered"`
	RawTokens    int `json:"rawTokens"`
	// Fidelity is the weighted share of anchors that the compartments contain, from 0 to 1. Weakest is the compartment
	// with the lowest fidelity.
	Fidelity float64           `json:"fidelity"`
	Weakest  *CompartmentScore `json:"weakest,omitzero"`
	// Runs is the number of all runs of the historian. Publishes is the number of runs that have published. Extracted
	// is the number of publications whose compartments no model has written.
	Runs      int            `json:"runs"`
	Publishes int            `json:"publishes"`
	Extracted int            `json:"extracted,omitzero"`
	Usage     HistorianUsage `json:"usage"`
	// Running is the run under way.
	Running *HistoryRun `json:"running,omitzero"`
	// Unfinished is a recomp that was interrupted. /ctx-recomp continues it.
	Unfinished *HistoryRun `json:"unfinished,omitzero"`
	// Stopped is a recomp or a wrap-up that stopped early. If a later run has begun, or if the user has cancelled the
	// work, Stopped is absent.
	Stopped *StoppedRun `json:"stopped,omitzero"`
	// Failures is the number of failures of models since their last usable answer. LastError is the cause of the newest
	// failure, and FailedAt is its time (Unix ms). The historian asks no model before the pass RetryPass.
	Failures  int    `json:"failures,omitzero"`
	LastError string `json:"lastError,omitzero"`
	FailedAt  int64  `json:"failedAt,omitzero"`
	RetryPass int    `json:"retryPass,omitzero"`
	// Waited is the number of passes on which messages waited for a summary and no run of the historian could begin.
	// Too many such passes are a fault, which IsOverdue reports.
	Waited    int  `json:"waited,omitzero"`
	IsOverdue bool `json:"isOverdue,omitzero"`
	// LastPublish is the newest publication.
	LastPublish *HistoryPublish `json:"lastPublish,omitzero"`
	// Budget is the reason why the historian asks no model for the rest of the day.
	Budget *BudgetStop `json:"budget,omitzero"`
}

// DreamStatus describes the dreamer's work on a project.
type DreamStatus struct {
	// Task is the task on which the run is working, for example "verify", or "" if there is no run. If Number is 2 and
	// Of is 5, this is the second of five tasks.
	Task   string `json:"task,omitzero"`
	Number int    `json:"number,omitzero"`
	Of     int    `json:"of,omitzero"`
	// Since is the time at which the run began (Unix ms).
	Since int64 `json:"since,omitzero"`
	// Tokens are the tokens of the run's questions and answers so far.
	Tokens int `json:"tokens,omitzero"`
	// Waits means that the run was interrupted, and has not been continued yet.
	Waits bool `json:"waits,omitzero"`
	// After several equal failures, the schedule pauses until the time Until (Unix ms). Failures is the number of these
	// failures, and Failure is the newest report.
	Failures int    `json:"failures,omitzero"`
	Failure  string `json:"failure,omitzero"`
	Until    int64  `json:"until,omitzero"`
	// Budget is the reason why the dreamer asks no model for the rest of the day.
	Budget *BudgetStop `json:"budget,omitzero"`
}

// SidekickStatus describes a run of the sidekick for a message of the user.
type SidekickStatus struct {
	// Results is the number of search results from which the sidekick chooses findings, or 0 while it chooses what to
	// search for.
	Results int `json:"results,omitzero"`
	// Since is the time at which the run began (Unix ms).
	Since int64 `json:"since"`
	// Tokens are the tokens of the run's questions and answers so far.
	Tokens int `json:"tokens,omitzero"`
}

// BudgetStop says that the next call of a hidden agent could exceed a budget of the day.
type BudgetStop struct {
	// Agents says which agents the budget bounds: "historian", "others", or "" for all agents.
	Agents string `json:"agents,omitzero"`
	// Until is the time at which the next day begins (Unix ms).
	Until int64 `json:"until"`
	// Money is the budget in dollars. SpentMoney is the amount that is spent or reserved, and NeedsMoney is the most
	// that the call could cost. Tokens, SpentTokens and NeedsTokens are the same amounts in tokens.
	Money       float64 `json:"money"`
	SpentMoney  float64 `json:"spentMoney"`
	NeedsMoney  float64 `json:"needsMoney"`
	Tokens      int     `json:"tokens"`
	SpentTokens int     `json:"spentTokens"`
	NeedsTokens int     `json:"needsTokens"`
}

// CompartmentScore is the score of the compartment that covers the messages from the ordinal Start to the ordinal End.
type CompartmentScore struct {
	Start    int     `json:"start"`
	End      int     `json:"end"`
	Fidelity float64 `json:"fidelity"`
}

// HistorianUsage is the usage of runs of the historian, in tokens.
type HistorianUsage struct {
	Input      int `json:"input"`
	CacheRead  int `json:"cacheRead"`
	CacheWrite int `json:"cacheWrite"`
	Output     int `json:"output"`
}

// HistoryPublish is a publication: compartments of the messages with the ordinals Start
// to End.
type HistoryPublish struct {
	// Pass is the session's newest pass when the run began. At is the time of the
	// publication (Unix ms).
	Pass         int     `json:"pass"`
	At           int64   `json:"at"`
	Start        int     `json:"start"`
	End          int     `json:"end"`
	Compartments int     `json:"compartments"`
	Fidelity     float64 `json:"fidelity"`
	// MadeBy says who has written the compartments: "model" is a model's first answer, "repaired" is its second answer,
	// and "fallback" is the answer of another model. "extractive" means that fixed rules wrote them without a model.
	MadeBy string `json:"madeBy" jsonschema:"enum=model,enum=repaired,enum=fallback,enum=extractive"`
	Model  string `json:"model,omitzero"`
	// Reason says why the run began, for example "tail-size".
	Reason string         `json:"reason,omitzero"`
	Usage  HistorianUsage `json:"usage"`
	// The host removes quotes and facts from a model's answer if the messages do not confirm them. UnconfirmedQuotes
	// counts the removed quotes of the user, and UnconfirmedFacts the removed facts.
	UnconfirmedQuotes int `json:"unconfirmedQuotes,omitzero"`
	UnconfirmedFacts  int `json:"unconfirmedFacts,omitzero"`
}

// HistoryRun is work of the historian.
type HistoryRun struct {
	// If Kind is "incremental", the host itself began the run. Otherwise, the user began it: "recomp" is a recomp of
	// all summaries, "partial" is a recomp of a part of them, and "wrapup" is a wrap-up.
	Kind string `json:"kind" jsonschema:"enum=incremental,enum=recomp,enum=partial,enum=wrapup"`
	// Since is when the run began, in Unix ms. It is absent for an interrupted run.
	Since int64 `json:"since,omitzero"`
	// Start and End are the first and the last message of the run, and Done is the last message that has a new summary.
	// All three are absent for an incremental run.
	Start int `json:"start,omitzero"`
	End   int `json:"end,omitzero"`
	Done  int `json:"done,omitzero"`
}

// StoppedRun is work of the historian that has stopped early. Start to End are its
// messages.
type StoppedRun struct {
	Kind   string `json:"kind" jsonschema:"enum=recomp,enum=partial,enum=wrapup"`
	At     int64  `json:"at"`
	Start  int    `json:"start"`
	End    int    `json:"end"`
	Reason string `json:"reason"`
}
