/** Reports changes of our nftables table from `nft monitor`. What it prints is a trigger alone. */
import { NFT_TABLE } from './nft-rows.ts';
import type { Argv } from '../programs/program.ts';
import { ProgramMonitor } from '../programs/program-monitor.ts';

export interface NftMonitorOptions {
  readonly program: Argv;
  readonly onChange: () => void;
  /** Called with what went wrong: an overrun, an end. */
  readonly onTrouble?: (text: string) => void;
}

const OURS = ` ${NFT_TABLE.family} ${NFT_TABLE.name}`;
/** As nft says that events were lost. */
const LOST = /lost|No buffer space/;
/** NETLINK_NETFILTER (linux/netlink.h). */
const NETLINK_NETFILTER = '12';

export const nftMonitor = ({ program, onChange, onTrouble }: NftMonitorOptions): ProgramMonitor =>
  new ProgramMonitor({
    name: 'nft monitor',
    program: [...program, 'monitor'],
    netlink: NETLINK_NETFILTER,
    onLines(lines) {
      // Lines of other tables are nothing to us, however many there are.
      if (lines.some((line) => line.includes(OURS) || LOST.test(line))) onChange();
    },
    onError(text) {
      onTrouble?.(`nft monitor: ${text}`);
      onChange();
    },
    onUnknown: onChange,
    onTrouble,
  });
