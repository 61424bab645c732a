/** A pass over the host of a node: what units want of it is made so, also while databases can't be written. */
import { errorText, faultStack } from '../api/error-text.ts';
import type { Logger } from '../process/logger.ts';
import { isStopping, type PassEnd } from '../process/loop.ts';
import { REVISIT } from './database-pass.ts';
import type { OpenHost } from './host.ts';
import type { ZoneController } from './zone-controller.ts';

export interface HostPassOptions {
  readonly host: OpenHost;
  readonly controller: ZoneController;
  readonly log: Logger;
  /** Called when rows of the local Open_vSwitch database changed that are something to the host. */
  readonly onRows: () => void;
}

export class HostPass {
  /** Why not everything can be done, if so. */
  blocked: string | undefined = 'the host was not looked at yet';
  readonly #options: HostPassOptions;
  #isFollowing = false;
  /** How much the last pass knew of what nobody wants. */
  #wasBuilt = false;
  #knewAll = false;

  constructor(options: HostPassOptions) {
    this.#options = options;
  }

  /** True when another pass may do more: something else is wanted, or it is known only now what nobody wants. */
  get isBehind(): boolean {
    const { host, controller } = this.#options;
    return (
      host.controller.isBehind ||
      (!this.#wasBuilt && controller.isBuilt) ||
      (!this.#knewAll && controller.hostMayBeWanted() === undefined)
    );
  }

  async run(signal: AbortSignal): Promise<PassEnd> {
    // Before the first build nobody knows what is wanted: whoever builds asks for a pass.
    if (!this.#options.controller.isStarted) return { wait: REVISIT, isBlocked: false };
    try {
      this.#report(await this.#write(signal));
    } catch (error) {
      if (isStopping(signal)) throw error;
      this.#report(errorText(error), error);
    }
    return { wait: REVISIT, isBlocked: this.blocked !== undefined };
  }

  async #write(signal: AbortSignal): Promise<string | undefined> {
    const { host, controller, onRows } = this.#options;
    if (!this.#isFollowing) {
      await host.start();
      host.controller.onRows(onRows);
      this.#isFollowing = true;
    }
    const mayBeWanted = controller.hostMayBeWanted();
    this.#wasBuilt = controller.isBuilt;
    this.#knewAll = mayBeWanted === undefined;
    return host.controller.flush(mayBeWanted, signal);
  }

  #report(blocked: string | undefined, error?: unknown): void {
    if (blocked !== undefined && blocked !== this.blocked)
      this.#options.log.warn({ component: 'host', stack: faultStack(error) }, blocked);
    this.blocked = blocked;
  }
}
