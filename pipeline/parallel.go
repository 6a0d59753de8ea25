package pipeline

import (
	"runtime"
	"sync"
)

// inParallel calls f for each number below n. For fewer than 128 calls it uses one core, and otherwise all cores. The
// calls must not depend on each other.
func inParallel(n int, f func(int)) {
	const chunk = 64
	workers := min(runtime.GOMAXPROCS(0), n/chunk)
	if workers < 2 {
		for i := range n {
			f(i)
		}
		return
	}
	var wg sync.WaitGroup
	chunks := make(chan int, n/chunk+1)
	for from := 0; from < n; from += chunk {
		chunks <- from
	}
	close(chunks)
	for range workers {
		wg.Go(func() {
			for from := range chunks {
				for i := from; i < min(from+chunk, n); i++ {
					f(i)
					// This loop keeps all cores busy. Without Gosched, a status request would wait up to 10 ms for its
					// turn.
					runtime.Gosched()
				}
			}
		})
	}
	wg.Wait()
}
