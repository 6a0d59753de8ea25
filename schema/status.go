package schema

// VersionParams asks which release is running.
type VersionParams struct{}

// VersionResult says which release is running. A host can always send it. A StatusResult is less reliable: it needs the
// store, which may hang, and takes longer with more sessions.
type VersionResult struct {
	Version  string  `json:"version"`
	Protocol Version `json:"protocol"`
	PID      int     `json:"pid"`
}

// StatusParams asks for the state of the host.
type StatusParams struct{}

// StatusResult is the state of the host.
type StatusResult struct {
	Version  string  `json:"version"`
	Protocol Version `json:"protocol"`
	// ProgramHash is the SHA-256 of the host's executable at its start, in hex. It is
	// absent if the host could not read the file.
	ProgramHash string          `json:"programHash,omitzero"`
	PID         int             `json:"pid"`
	StartedAt   int64           `json:"startedAt"`
	Database    string          `json:"database"`
	StoreSchema int             `json:"storeSchema"`
	Enabled     bool            `json:"enabled"`
	Reason      string          `json:"reason,omitzero"`
	Bugs        int64           `json:"bugs"`
	Clients     []ClientStatus  `json:"clients"`
	Sessions    []SessionStatus `json:"sessions"`
	// MemoryBytes is the host's memory: its resident size if the system reports
	// one, otherwise the memory that the Go runtime holds.
	MemoryBytes int64 `json:"memoryBytes,omitzero"`
	// StoreBytes is the size of the database on disk, including its write-ahead
	// log.
	StoreBytes int64 `json:"storeBytes,omitzero"`
	// KnownSessions counts all sessions in the store. Sessions lists only the
	// newest.
	KnownSessions int `json:"knownSessions,omitzero"`
	// HistorianRuns counts the runs of the historian that are under way or about to
	// begin.
	HistorianRuns int `json:"historianRuns,omitzero"`
	// Embedding says how many texts of the index have vectors. It is absent if no
	// service is configured.
	Embedding *EmbeddingStatus `json:"embedding,omitzero"`
	// Warnings are problems that a person should look at, worst first.
	Warnings []Warning `json:"warnings,omitempty"`
	// Saved is the money that magicctx has saved, summed over all sessions of
	// the store whose model has a price. It is absent if no session has one.
	Saved *Saving `json:"saved,omitzero"`
}

// EmbeddingStatus says how many texts of the index have vectors.
type EmbeddingStatus struct {
	Model string `json:"model,omitzero"`
	// Texts counts the texts that have vectors of this model. Waiting counts the texts that will get vectors.
	Texts   int `json:"texts"`
	Waiting int `json:"waiting,omitzero"`
	// Problem is the reason why there are no vectors.
	Problem string `json:"problem,omitzero"`
}

// Saving estimates how much money magicctx has saved, in $. docs/status.md explains the estimate.
type Saving struct {
	// Money is the estimated amount that dropping content has saved, compared to sending the same requests with nothing
	// dropped. It is negative while a bust has not paid off yet.
	Money float64 `json:"money"`
	// Historian is the cost of the historian's runs. It is already subtracted from Money.
	Historian float64 `json:"historian,omitzero"`
	// Early is the part of Money that comes from content that the `spending` setting removed before the prompt was
	// large. The historian's cost is not subtracted from it.
	Early float64 `json:"early,omitzero"`
	// Spent is the price of all prompts that the estimate covers, plus the price of the historian's runs. It does not
	// include the price of answers.
	Spent float64 `json:"spent,omitzero"`
	// Passes is the number of requests that the estimate covers.
	Passes int `json:"passes"`
	// UnpricedSessions counts the sessions that are missing from a sum over several sessions, because the harness names
	// no price for their models.
	UnpricedSessions int `json:"unpricedSessions,omitzero"`
}

// RemovedEarly returns Early, and 0 if there is no saving.
func (s *Saving) RemovedEarly() float64 {
	if s == nil {
		return 0
	}
	return s.Early
}

// Recalled counts the lines that magicctx has added to the wire to remind the model of facts from earlier messages.
type Recalled struct {
	Lines int `json:"lines"`
	// Acted counts the lines that the model acted on: it read the message, or used a file or command that the line
	// names.
	Acted int `json:"acted"`
	// Tokens is the size of the lines.
	Tokens int `json:"tokens"`
}

// Warning is a problem that a person should look at.
type Warning struct {
	// Source says where the problem is. "store": the store cannot be written. "recovery": a database was damaged and
	// replaced. "bug": magicctx has a bug. "program": the running host comes from a different program file than the
	// client that asked. "history": the history of a session in Directory is not being summarised. "markers": a
	// compaction marker could not be changed. "config": the configuration of Directory contains a mistake.
	Source    string `json:"source" jsonschema:"enum=store,enum=recovery,enum=bug,enum=program,enum=history,enum=markers,enum=config"`
	Directory string `json:"directory,omitzero"`
	Message   string `json:"message"`
}

// ClientStatus is one connection of the host.
type ClientStatus struct {
	Client      string   `json:"client"`
	Version     string   `json:"version"`
	Harness     Harness  `json:"harness,omitzero"`
	PID         int      `json:"pid,omitzero"`
	Directories []string `json:"directories"`
}

// HarnessClients returns the number of clients that belong to a harness. It leaves out other clients, for example the
// `magicctx-host status` process that asked for the status.
func (s StatusResult) HarnessClients() (n int) {
	for _, c := range s.Clients {
		if c.Harness != "" {
			n++
		}
	}
	return n
}

// SessionStatusParams asks for the state of one session.
type SessionStatusParams struct {
	Harness Harness `json:"harness"`
	Session string  `json:"session"`
	// Dropped asks for the lists of dropped units and of units that the user keeps.
	Dropped bool `json:"dropped,omitzero"`
	// Columns asks for Screen: the status as lines for a terminal with this many columns.
	Columns int `json:"columns,omitzero" jsonschema:"minimum=0"`
}

// SessionStatus is the state of one session after its last pass.
type SessionStatus struct {
	Harness Harness `json:"harness"`
	Session string  `json:"session"`
	// Title is the session's title as the harness reported it last. It is empty
	// until the harness has reported one.
	Title  string `json:"title,omitzero"`
	Mode   string `json:"mode" jsonschema:"enum=primary,enum=primary-no-reduce,enum=subagent,enum=subagent-no-reduce"`
	Model  Model  `json:"model"`
	Epoch  int    `json:"epoch"`
	Passes int    `json:"passes"`
	Busts  int    `json:"busts"`
	// LastVerdict and LastCause belong to the last pass.
	LastVerdict Verdict `json:"lastVerdict,omitzero"`
	LastCause   string  `json:"lastCause,omitzero"`
	LastPassAt  int64   `json:"lastPassAt,omitzero"`
	// LastPassMS is how long the host worked on the last pass, including its
	// commit, in ms. It is 0 if that pass was before the host started.
	LastPassMS float64 `json:"lastPassMs,omitzero"`
	Messages   int     `json:"messages"`
	// InputTokens is the prompt size that the provider reported last.
	InputTokens int `json:"inputTokens"`
	// RawTokens is the estimated size of the next prompt without magicctx. It is 0 if
	// it is unknown, for example right after a compaction by the harness.
	RawTokens int `json:"rawTokens,omitzero"`
	// ContextTokens is our current estimate of the model's prompt limit. 0
	// means unknown.
	ContextTokens int `json:"contextTokens"`
	// LimitSource says where ContextTokens comes from, for example "catalogue". If the host learned the limit from a
	// prompt that was sent, LimitAt is the time of that prompt in Unix ms. Otherwise, LimitAt is 0.
	LimitSource LimitSource `json:"limitSource,omitzero" jsonschema:"enum=catalogue,enum=usage,enum=overflow,enum=default,enum=config"`
	LimitAt     int64       `json:"limitAt,omitzero"`
	// Pressure is InputTokens / ContextTokens, or 0 if either is unknown.
	Pressure float64 `json:"pressure"`
	// Units is the number of tagged units. Dropped is how many of them are dropped, and Queued is how many have a drop
	// that waits for the next bust.
	Units   int `json:"units"`
	Dropped int `json:"dropped"`
	Queued  int `json:"queued"`
	// CacheRead and CacheWrite are the tokens that the provider reported,
	// summed over all passes.
	CacheRead  int64 `json:"cacheRead"`
	CacheWrite int64 `json:"cacheWrite"`
	// CacheFresh is the number of tokens that were neither read from nor
	// written to the provider's cache, summed over all passes.
	CacheFresh int64 `json:"cacheFresh,omitzero"`
	// CacheHitRate is the share of all reported prompt tokens that the provider
	// read from its cache, from 0 to 1. It is 0 if nothing was reported.
	CacheHitRate float64 `json:"cacheHitRate,omitzero"`
	Directory    string  `json:"directory,omitzero"`
	Parent       string  `json:"parent,omitzero"`
	// Threshold is the pressure at which a pass may begin to bust, from 0 to 1.
	Threshold float64 `json:"threshold,omitzero"`
	// LastPassBust says whether the last pass was a bust.
	LastPassBust bool `json:"lastPassBust,omitzero"`
	// BustCauses counts the busts in the journal by cause, most frequent first.
	BustCauses []CauseCount `json:"bustCauses,omitempty"`
	// Tokens splits the prompt by source. Once the provider has reported InputTokens, all parts except Dropped add up
	// to it.
	Tokens TokensBySource `json:"tokens,omitzero"`
	// SizeTokens is the prompt size that the last pass expected if it removed nothing. GoalTokens is the size to which
	// the pass tried to shrink the prompt, or 0 if it had no goal.
	SizeTokens int `json:"sizeTokens,omitzero"`
	GoalTokens int `json:"goalTokens,omitzero"`
	// LastPrice is the newest price of a bust in the journal, whether or not
	// the bust was made.
	LastPrice *PricedPass `json:"lastPrice,omitzero"`
	// Spending is the value of the project's `spending` setting. Carried is absent if nothing can be removed from the
	// prompt.
	Spending Spending `json:"spending,omitzero"`
	Carried  *Carried `json:"carried,omitzero"`
	// NextBust estimates the next bust under pressure. It is absent while the
	// model's prompt limit is unknown.
	NextBust *NextBust `json:"nextBust,omitzero"`
	// LastBust is the newest bust of the journal.
	LastBust *LastBust `json:"lastBust,omitzero"`
	// Saved is absent if the harness names no price for the session's model, or
	// if no request was measured yet.
	Saved *Saving `json:"saved,omitzero"`
	// Recalled counts the lines that reminded the model of facts from earlier messages. It is absent if there were
	// none.
	Recalled *Recalled `json:"recalled,omitzero"`
	// Removals says how much each rule has removed from the prompt, and how much of the removed content the model soon
	// read again. RereadCost is the price of the content that was read again, or 0 if the harness names no price.
	Removals   []Removal `json:"removals,omitempty"`
	RereadCost float64   `json:"rereadCost,omitzero"`
	// DroppedUnits lists the dropped units, newest decision first. It is filled only if the request sets
	// SessionStatusParams.Dropped.
	DroppedUnits []DroppedUnit `json:"droppedUnits,omitempty"`
	// KeptUnits lists the units that the user keeps, in the order in which the user asked. It is filled only if the
	// request sets SessionStatusParams.Dropped.
	KeptUnits []KeptUnit `json:"keptUnits,omitempty"`
	// BindsThinking means that the session's model binds its thinking to
	// everything before it. LostThinkingBlocks counts the blocks that busts
	// have invalidated. LostThinkingTokens estimates their size.
	BindsThinking      bool `json:"bindsThinking,omitzero"`
	LostThinkingBlocks int  `json:"lostThinkingBlocks,omitzero"`
	LostThinkingTokens int  `json:"lostThinkingTokens,omitzero"`
	// CacheLifeMS is the estimated time in ms for which an unused prefix stays in the provider's cache. CacheRoute
	// names the entry for this cache in the host's table, for example "anthropic-1h".
	CacheLifeMS int64  `json:"cacheLifeMs,omitzero"`
	CacheRoute  string `json:"cacheRoute,omitzero"`
	// CacheLifeSource is the source of CacheLifeMS. CacheLifeReason describes this source to a person, for example
	// "Anthropic's default".
	CacheLifeSource CacheLifeSource `json:"cacheLifeSource,omitzero" jsonschema:"enum=route,enum=config,enum=read,enum=missed,enum=harness"`
	CacheLifeReason string          `json:"cacheLifeReason,omitzero"`
	// Head describes the messages in front of the tail. It is absent while the
	// session has no head.
	Head *HeadStatus `json:"head,omitzero"`
	// History is absent until the historian has run in the session.
	History *HistoryStatus `json:"history,omitzero"`
	// Dream is the dreamer's work on the session's project.
	Dream *DreamStatus `json:"dream,omitzero"`
	// Sidekick is the work of the sidekick for the session.
	Sidekick *SidekickStatus `json:"sidekick,omitzero"`
	// Memories is the number of memories that the session may see. Notes is the number of open notes of the session and
	// its project. Panel is the content of the panel in the harness's own screen. Only the status of a single session
	// has these three.
	Memories int    `json:"memories,omitzero"`
	Notes    int    `json:"notes,omitzero"`
	Panel    *Panel `json:"panel,omitzero"`
	// Screen has the status as lines for a terminal. It is filled only if the request sets SessionStatusParams.Columns.
	Screen []string `json:"screen,omitzero"`
}

// A Removal is the sum of all content that one rule has removed from prompts for one
// cause. For example, the rule "tool reclaim" has removed 40,000 tokens because of
// "pressure".
type Removal struct {
	// Rule names the rule. It is "summaries" for messages that a summary has replaced.
	Rule  string `json:"rule"`
	Cause string `json:"cause"`
	// Tokens is the size of the removed content. Rereads is the number of removed
	// pieces that the model read again within 20 requests, and Reread is their size
	// in tokens.
	Tokens  int `json:"tokens"`
	Rereads int `json:"rereads,omitzero"`
	Reread  int `json:"reread,omitzero"`
}

// SumOf adds up removals. The result names no rule.
func SumOf(all []Removal) (sum Removal) {
	for _, r := range all {
		sum.Tokens, sum.Rereads, sum.Reread = sum.Tokens+r.Tokens, sum.Rereads+r.Rereads, sum.Reread+r.Reread
	}
	return sum
}

// NextBust describes the next bust under pressure, in tokens.
type NextBust struct {
	// IsAsked means that the user has asked for a bust, for example with /ctx-flush. If there is something to free, the
	// next pass makes the bust.
	IsAsked bool `json:"isAsked,omitzero"`
	// Waits means that the newest pass has estimated the bust, and that the bust does not pay off yet. If Waits is
	// true, Freed, Resent and Cost are that pass's figures. If not, they are bounds: a bust frees at most Freed, and
	// sends at least Resent again.
	Waits bool `json:"waits,omitzero"`
	// At is the high mark: once the prompt has this size, a pass may bust. Down is the low mark: the bust shrinks the
	// prompt to about this size.
	At   int `json:"at"`
	Down int `json:"down"`
	// Freed is the size of the content that the bust removes. Resent is the size
	// of the messages that stay and have to be written to the provider's cache
	// again.
	Freed  int `json:"freed"`
	Resent int `json:"resent"`
	// Cost is the extra price of writing Resent instead of reading it, in $. It
	// is absent if the harness names no price for the model.
	Cost *float64 `json:"cost,omitzero"`
}

// LastBust is a bust that was made.
type LastBust struct {
	Pass int   `json:"pass"`
	At   int64 `json:"at"`
	// Cause is the reason for the bust, for example "pressure". Words expresses the cause in words for a person, for
	// example "getting full".
	Cause string `json:"cause"`
	Words string `json:"words"`
	// Removed is the size of the content that the bust removed. Resent is the size of the messages that the provider
	// had to write to its cache again. Both are 0 if the bust removed nothing, for example because the harness caused
	// the bust.
	Removed int `json:"removed,omitzero"`
	Resent  int `json:"resent,omitzero"`
	// Cost is the extra price of writing Resent instead of reading it, in $. It is absent if the harness names no price
	// for the model, or if the prefix was gone before the bust.
	Cost *float64 `json:"cost,omitzero"`
}

// DroppedUnit is a piece of the conversation that is no longer sent.
type DroppedUnit struct {
	// Tag is the number that the model saw, for example 12 in §12§.
	Tag  int    `json:"tag"`
	Kind string `json:"kind" jsonschema:"enum=text,enum=file,enum=tool"`
	// Tool is the tool whose call was dropped.
	Tool string `json:"tool,omitzero"`
	// About is the path or the argument of a call, the name of a file, or the first words of a text. If the host does
	// not have the session's messages at the moment, About is empty.
	About  string `json:"about,omitzero"`
	Tokens int    `json:"tokens"`
	// Partly means that only the result was dropped: the call itself is still sent.
	Partly bool `json:"partly,omitzero"`
	// Pass is the pass that dropped the unit. At and Cause are the time and the cause of that pass. If the journal no
	// longer has the pass, they are absent.
	Pass  int    `json:"pass"`
	At    int64  `json:"at,omitzero"`
	Cause string `json:"cause,omitzero"`
	// Rule names the rule that dropped the unit, for example "queued drops". It
	// is absent for a drop that an older host made.
	Rule string `json:"rule,omitzero"`
}

// KeptUnit is a piece of the conversation that the user keeps: neither a rule nor ctx_reduce removes it. It is removed
// only if a summary replaces its message, or if the prompt would not fit with it.
type KeptUnit struct {
	Tag    int    `json:"tag"`
	Kind   string `json:"kind" jsonschema:"enum=text,enum=file,enum=tool"`
	Tool   string `json:"tool,omitzero"`
	About  string `json:"about,omitzero"` // as in DroppedUnit
	Tokens int    `json:"tokens"`
	// Waits means that the piece is not whole on the wire yet. The next bust restores it if the prompt then stays below
	// the execute threshold.
	Waits bool `json:"waits,omitzero"`
}

// KeepParams asks the host to keep pieces of the conversation, or to let them go. If a dropped piece is kept, it comes
// back. If the host refuses one of the pieces, the call changes nothing.
type KeepParams struct {
	Harness Harness `json:"harness"`
	Session string  `json:"session"`
	Tags    []int   `json:"tags"`
	// LetGo lets the pieces go: rules and ctx_reduce may drop them again.
	LetGo bool `json:"letGo,omitzero"`
}

// KeepResult lists the pieces that the user keeps after the call.
type KeepResult struct {
	KeptUnits []KeptUnit `json:"keptUnits"`
}

// PricedPass is a pass that estimated the price of a bust.
type PricedPass struct {
	Pass int `json:"pass"`
	// Cause is why the pass wanted to bust, or why it had to wait.
	Cause string `json:"cause"`
	// Bust says whether the pass made the bust.
	Bust  bool      `json:"bust"`
	Price BustPrice `json:"price"`
}

// BustPrice is the estimated cost and gain of a bust.
type BustPrice struct {
	// Resent is the number of tokens after the first changed byte, which the
	// provider writes to its cache again. Removed is the number of tokens that
	// are no longer sent.
	Resent  int `json:"resent"`
	Removed int `json:"removed"`
	// BreakEven is the number of passes after which the bust has paid off.
	// Forecast is the expected number of passes until space must be freed at
	// any cost.
	BreakEven float64 `json:"breakEven"`
	Forecast  int     `json:"forecast"`
	// Thinking is the number of tokens of thinking that the bust invalidates,
	// if the model binds its thinking to everything before it.
	Thinking int `json:"thinking,omitzero"`
	// Cost is the price of the bust. Rent is what waiting costs: sending the removable content with all requests since
	// the last bust, plus the expected price of sending it until the next lump comes. The unit of both is the price of
	// reading one token from the cache.
	Cost int `json:"cost,omitzero"`
	Rent int `json:"rent,omitzero"`
}

// PaysOff reports whether the bust is expected to cost less than waiting.
func (b BustPrice) PaysOff() bool { return b.Removed > 0 && b.BreakEven <= float64(b.Forecast) }

// Carried describes the content that the next bust for rent would remove. Until then,
// each request reads it from the cache again. For example, if the content has 30,000
// tokens, ten requests have paid for 300,000.
type Carried struct {
	// Tokens is the size of the content.
	Tokens int `json:"tokens"`
	// Paid is the price of the content in all requests since the last bust, and Price is the price of the bust. The
	// unit of both is the price of reading one token from the cache. Cost is Paid in $. It is absent if the model has
	// no price.
	Paid  int     `json:"paid"`
	Price int     `json:"price"`
	Cost  float64 `json:"cost,omitzero"`
}

// Value returns *c, or the zero value for nil.
func (c *Carried) Value() Carried {
	if c == nil {
		return Carried{}
	}
	return *c
}

// LimitSource is the source of a model's prompt limit.
type LimitSource string

// The sources of a limit. LimitConfig is reserved for a limit that the user configures. There is no such key in the
// configuration yet.
const (
	// LimitCatalogue is the harness's catalogue.
	LimitCatalogue LimitSource = "catalogue"
	// LimitUsage means that the provider accepted a larger prompt than the limit we had assumed.
	LimitUsage LimitSource = "usage"
	// LimitOverflow is the refusal of a prompt as too long.
	LimitOverflow LimitSource = "overflow"
	// LimitDefault is our own assumption, used if there is no other source.
	LimitDefault LimitSource = "default"
	LimitConfig  LimitSource = "config"
)

// CacheLifeSource says where the estimated life of an unused prefix comes from.
type CacheLifeSource string

const (
	// CacheLifeRoute means that the life comes from the provider's documentation. If the documentation names no life,
	// we assume one.
	CacheLifeRoute CacheLifeSource = "route"
	// CacheLifeConfig is the configuration (cache_ttl).
	CacheLifeConfig CacheLifeSource = "config"
	// CacheLifeRead means that a cached prefix could be read after a longer pause than the life we had assumed.
	CacheLifeRead CacheLifeSource = "read"
	// CacheLifeMissed means that several prefixes were gone after a shorter pause than the life we had assumed.
	CacheLifeMissed CacheLifeSource = "missed"
	// CacheLifeHarness means that the harness itself keeps idle prefixes in the provider's cache.
	CacheLifeHarness CacheLifeSource = "harness"
)

// CauseCount is the number of events with one cause, for example busts.
type CauseCount struct {
	Cause string `json:"cause"`
	Count int    `json:"count"`
}

// TokensBySource splits a session's prompt by its origin, in tokens. The host counts each part itself, and then scales
// the parts of the messages so that they match the provider's count. Dropped is not scaled. A dropped unit counts only
// as Dropped. But if its call stays on the wire as a skeleton, the input of the call also counts as ToolInputs.
// Messages that the head covers are not included.
type TokensBySource struct {
	System int64 `json:"system"`
	// Head is the size of the head's messages.
	Head int64 `json:"head,omitzero"`
	// ToolDefinitions is the size of the prompt before its messages, apart from
	// the system prompt: mainly the definitions of the tools.
	ToolDefinitions int64 `json:"toolDefinitions"`
	Text            int64 `json:"text"`
	Files           int64 `json:"files"`
	ToolInputs      int64 `json:"toolInputs"`
	ToolResults     int64 `json:"toolResults"`
	// Thinking is an estimate. Until the session's first request since the host started, Thinking is 0, and Text
	// includes the thinking.
	Thinking int64 `json:"thinking,omitzero"`
	Dropped  int64 `json:"dropped"`
}

// SubscribeParams asks for session/changed notifications: after each pass, and as soon as the usage of the pass's
// answer is known.
type SubscribeParams struct {
	// Harness and Session restrict the subscription. Empty means all.
	Harness Harness `json:"harness,omitzero"`
	Session string  `json:"session,omitzero"`
	// Only means that the client's earlier subscriptions end.
	Only bool `json:"only,omitzero"`
}
