/**
 * Connections of pods that are gone are forgotten. Nobody who is killed meanwhile leaves some: until it is done the addresses stand in a file, which, as the connections
 * do, lasts until the machine is started anew.
 */
import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { plainAddress } from '../../node/plain-address.ts';
import type { Conntrack } from '../../node/conntrack/conntrack.ts';
import type { Logger } from '../../process/logger.ts';

/** Name of the file, in the folder of the plugin's socket. */
export const FORGETTING = 'cni.forgetting';

export interface PodConnectionsOptions {
  readonly conntrack: Pick<Conntrack, 'forget' | 'forgotten'>;
  /** Path. */
  readonly file: string;
  readonly log: Logger;
}

export class PodConnections {
  readonly #options: PodConnectionsOptions;
  /** Addresses of those that asked. */
  readonly #pending = new Set<readonly string[]>();

  constructor(options: PodConnectionsOptions) {
    this.#options = options;
  }

  /** Goes on where a daemon was killed. To be called before anybody asks for addresses. */
  async resume(): Promise<void> {
    await this.forget(this.#read());
  }

  /** Forgets those of addresses, without prefix length, once `gone` resolves; if it rejects nothing is forgotten. What fails is logged. */
  async forget(addresses: readonly string[], gone?: Promise<void>): Promise<void> {
    if (addresses.length === 0) return;
    this.#pending.add(addresses);
    this.#write();
    const isGone = await (gone ?? Promise.resolve()).then(
      () => true,
      () => false,
    );
    try {
      if (isGone) await this.#options.conntrack.forget(addresses);
    } catch (error) {
      this.#warn('connections of a pod that is gone stay until they time out', error);
    } finally {
      this.#pending.delete(addresses);
      this.#write();
    }
  }

  /** Resolves when no connections of these addresses are being forgotten, or could not be: what begins before may go with them. */
  forgotten(addresses: readonly string[]): Promise<void> {
    return this.#options.conntrack.forgotten(addresses);
  }

  #read(): readonly string[] {
    try {
      const lines = readFileSync(this.#options.file, 'utf8').split('\n');
      return lines.flatMap((line) => plainAddress(line) ?? []);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT')
        this.#warn('connections of pods that went before may stay until they time out', error);
      return [];
    }
  }

  /** At each moment there is the old file or the new one, as a whole. */
  #write(): void {
    const { file } = this.#options;
    try {
      if (this.#pending.size === 0) {
        rmSync(file, { force: true });
        return;
      }
      writeFileSync(`${file}.new`, [...this.#pending].flat().join('\n'), { mode: 0o600 });
      renameSync(`${file}.new`, file);
    } catch (error) {
      this.#warn('if the daemon is killed now, connections of pods that go stay', error);
    }
  }

  #warn(text: string, error: unknown): void {
    this.#options.log.warn({ component: 'cni', error }, text);
  }
}
