/** What a runtime asks for one container is done one after the other, and a DEL ends the ADDs before it. */
import { Exclusive } from '../../process/exclusive.ts';

class Turns {
  readonly exclusive = new Exclusive();
  users = 0;
  /** Ends the ADD that is running or waits. */
  readonly adds = new Set<AbortController>();
}

export class ContainerTurns {
  readonly #turns = new Map<string, Turns>();

  /** Whether something is done for a container now, or waits. */
  has(container: string): boolean {
    return this.#turns.has(container);
  }

  /** Ends the ADDs of a container. */
  endAdds(container: string, reason: Error): void {
    for (const add of this.#turns.get(container)?.adds ?? []) add.abort(reason);
  }

  /** Does it when what came before for the container is done. `add`: by which `endAdds` ends it. */
  async run<T>(container: string, task: () => Promise<T>, add?: AbortController): Promise<T> {
    const turns = this.#turns.get(container) ?? new Turns();
    this.#turns.set(container, turns);
    turns.users += 1;
    if (add !== undefined) turns.adds.add(add);
    try {
      return await turns.exclusive.run(task);
    } finally {
      turns.users -= 1;
      if (add !== undefined) turns.adds.delete(add);
      if (turns.users === 0) this.#turns.delete(container);
    }
  }
}
