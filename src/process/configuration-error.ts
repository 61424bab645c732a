/** A setting that can't be used: which source gave it, its value, and what to write instead. */
export class ConfigurationError extends Error {
  constructor(source: string, problem: string) {
    super(`${source}: ${problem}`);
    this.name = 'ConfigurationError';
  }
}
