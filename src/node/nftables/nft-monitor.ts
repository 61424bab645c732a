/** Reports changes of our nftables table from `nft monitor`. What it prints is a trigger alone. */
import { NFT_TABLE } from './nft-rows.ts';
import type { Argv } from '../programs/program.ts';
import { ProgramMonitor } from '../programs/program-monitor.ts';

export interface NftMonitorOptions {
  readonly program: Argv;
  /** `by`: the programs of the transactions that ended, as the kernel tells of them; `isOpen`: of another one the program is not printed yet. */
  readonly onChange: (by: readonly string[], isOpen: boolean) => void;
  /** Called with what went wrong: an overrun, an end. */
  readonly onTrouble?: (text: string) => void;
}

const OURS = ` ${NFT_TABLE.family} ${NFT_TABLE.name}`;
/** As nft says that events were lost. */
const LOST = /lost|No buffer space/;
/** NETLINK_NETFILTER (linux/netlink.h). */
const NETLINK_NETFILTER = '12';

/** `# new generation 4 by process 18835 (nft)`: what was printed before is one transaction. */
const GENERATION = /^# new generation \d+ by process (\d+) \((.*)\)$/;

export function nftMonitor({ program, onChange, onTrouble }: NftMonitorOptions): ProgramMonitor {
  /** A line of ours was printed since the last transaction ended. */
  let isOurs = false;
  const unknown = (): void => {
    isOurs = false;
    onChange([], false);
  };
  return new ProgramMonitor({
    name: 'nft monitor',
    program: [...program, 'monitor'],
    netlink: NETLINK_NETFILTER,
    onLines(lines) {
      const by: string[] = [];
      let isStale = false;
      for (const line of lines) {
        // Lines of other tables are nothing to us, however many there are.
        if (line.includes(OURS) || LOST.test(line)) isOurs = isStale = true;
        const [, process, name] = GENERATION.exec(line) ?? [];
        if (process === undefined) continue;
        if (isOurs) by.push(`${name} (process ${process})`);
        isOurs = false;
      }
      if (isStale || by.length > 0) onChange(by, isOurs);
    },
    onError(text) {
      onTrouble?.(`nft monitor: ${text}`);
      unknown();
    },
    onUnknown: unknown,
    onTrouble,
  });
}
