package text_test

import (
	"fmt"

	"github.com/magicctx/magicctx-host/pipeline/text"
)

func ExampleStripInjections() {
	const prompt = "Run the tests.<system-reminder>The date is 2026-05-01.</system-reminder>"
	fmt.Println(text.StripInjections(prompt))
	// Output: Run the tests.
}

func ExampleStripInlineThinking() {
	fmt.Println(text.StripInlineThinking("<think>Which file?</think>It is main.go."))
	// Output: It is main.go.
}

func ExampleGap() {
	fmt.Printf("%q %q\n", text.Gap(20), text.Gap(2*60*60))
	// Output: "" "+2h"
}
