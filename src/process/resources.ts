/** Resources that end together, the last one first: the part of `AsyncDisposableStack` that is needed, which Node.js 22 lacks. */
export class Resources implements AsyncDisposable {
  #endings: (() => unknown)[] = [];

  use<T extends Disposable | AsyncDisposable>(resource: T): T {
    this.defer(() =>
      Symbol.asyncDispose in resource
        ? resource[Symbol.asyncDispose]()
        : resource[Symbol.dispose](),
    );
    return resource;
  }

  defer(ending: () => unknown): void {
    this.#endings.push(ending);
  }

  /** Whoever has the returned one ends them; this one ends nothing any more. */
  move(): Resources {
    const moved = new Resources();
    moved.#endings = this.#endings.splice(0);
    return moved;
  }

  /** Ends all of them, also when one fails; rejects with the last failure. */
  async [Symbol.asyncDispose](): Promise<void> {
    const ending = this.#endings.pop();
    if (ending === undefined) return;
    try {
      await ending();
    } finally {
      await this[Symbol.asyncDispose]();
    }
  }
}
