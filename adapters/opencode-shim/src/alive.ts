/** Reports whether a process runs. A process of another user counts, although it cannot be signalled. */
export function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch (err) {
    return (err as { code?: string }).code === "EPERM"
  }
}
