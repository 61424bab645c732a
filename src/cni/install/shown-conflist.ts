/**
 * The plugin's configuration, shown to the container runtime once the daemon answers: a runtime without STATUS (CNI 1.1) takes the node for one
 * with a network as soon as the file is there. It stays while a daemon is started again, as nodes that are not ready lose their pods' services.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { errorText } from '../../api/error-text.ts';
import { ConfigurationError } from '../../process/configuration-error.ts';
import { installConflist, removeConflist } from './plugin-files.ts';

/** Says at which boot of the machine a daemon answered last. */
const MARKER = 'cni.answered';

const bootOfMachine = (): string => readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();

export class ShownConflist {
  readonly #confDir: string;
  readonly #marker: string;
  readonly #boot: string;
  #isShown = false;
  #problem: string | undefined;

  /** Takes away what an earlier boot left in `confDir`. `socket`: that of the plugin, in a folder of the daemon's. Throws ConfigurationError. */
  constructor(confDir: string, socket: string, boot = bootOfMachine()) {
    this.#confDir = confDir;
    this.#marker = join(dirname(socket), MARKER);
    this.#boot = boot;
    try {
      if (this.#answeredAt() !== boot) removeConflist(confDir);
    } catch (error) {
      throw new ConfigurationError('--cni-conf-dir', errorText(error));
    }
  }

  /** True from the first `show` that succeeded on. */
  get isShown(): boolean {
    return this.#isShown;
  }

  /** Why it can't be shown, if so. */
  get problem(): string | undefined {
    return this.#problem;
  }

  /** To be called when the daemon answers. Who takes the file away later is not contradicted. */
  show(): void {
    if (this.#isShown) return;
    try {
      writeFileSync(this.#marker, this.#boot);
      installConflist(this.#confDir, '--cni-conf-dir');
      this.#isShown = true;
      this.#problem = undefined;
    } catch (error) {
      this.#problem = errorText(error);
    }
  }

  #answeredAt(): string | undefined {
    try {
      return readFileSync(this.#marker, 'utf8');
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
      return undefined;
    }
  }
}
