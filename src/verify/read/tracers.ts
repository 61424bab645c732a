/** Runs the programs that say what becomes of a packet. Arguments are values, never text of a shell. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { Tracers } from '../witnesses/witnesses.ts';

const run = promisify(execFile);
const MOST_BYTES = 64 * 1024 ** 2;
/** Of a database with the flows of 500 networks ovn-trace reads for some seconds. */
const SECONDS = 120;
/**
 * Every look at connection tracking finds a connection that begins; a packet comes by a handful of them, and by default each after the first is taken for
 * established.
 */
const LOOKS = 12;

export interface TracerOptions {
  /** Of Southbound, as ovn-trace takes them. */
  readonly southbound: string;
  readonly tls: {
    readonly privateKey?: string;
    readonly certificate?: string;
    readonly caCert?: string;
  };
  readonly hasOpenVswitch: boolean;
}

export function tracersOf({ southbound, tls, hasOpenVswitch }: TracerOptions): Tracers {
  const options = {
    maxBuffer: MOST_BYTES,
    timeout: SECONDS * 1000,
    env: { ...process.env, LC_ALL: 'C' },
  };
  const files = [
    ...(tls.privateKey === undefined ? [] : [`--private-key=${tls.privateKey}`]),
    ...(tls.certificate === undefined ? [] : [`--certificate=${tls.certificate}`]),
    ...(tls.caCert === undefined ? [] : [`--ca-cert=${tls.caCert}`]),
  ];
  const looks = Array.from({ length: LOOKS }, () => '--ct=new');
  const logical = async (datapath: string, microflow: string): Promise<string> => {
    const where = [`--db=${southbound}`, '--no-leader-only', ...files];
    const argv = [...where, ...looks, '--', datapath, microflow];
    return (await run('ovn-trace', argv, options)).stdout;
  };
  const physical = async (flow: string): Promise<string> => {
    const argv = [`--timeout=${SECONDS}`, 'ofproto/trace', 'br-int', flow];
    return (await run('ovs-appctl', argv, options)).stdout;
  };
  return hasOpenVswitch ? { logical, physical } : { logical };
}
