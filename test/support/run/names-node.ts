/**
 * `names-node.ts NETWORKS`: in a network namespace with the host's ports of these networks, the forwarder of DNS as a node has it, with facts of so many
 * tenants, all of one subnet. Prints `open` once it listens, and ends with its standard input.
 */
import { DnsForwarder } from '../../../src/node/dns/dns-forwarder.ts';
import { Installations } from '../../../src/node/dns/installations.ts';
import { createLogger } from '../../../src/process/logger.ts';
import { systemClock } from '../../../src/store/clock.ts';
import { manyNamedFacts } from '../zone/named-networks.ts';

const facts = manyNamedFacts(Number(process.argv[2]));
let isOpen = false;
const forwarder = new DnsForwarder({
  node: 'n1',
  names: { installations: new Installations(), rulesAbout: () => [], told: () => 0 },
  log: createLogger('warn'),
  onChange() {
    facts.refresh(0);
    if (isOpen || facts.forwardedDns()?.isOpen !== true) return;
    isOpen = true;
    process.stdout.write('open\n');
  },
});
const stop = new AbortController();
process.stdin.on('close', () => stop.abort()).resume();
await forwarder.start(facts, systemClock, stop.signal);
process.exit(0);
