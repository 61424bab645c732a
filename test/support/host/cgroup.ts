/** A cgroup, seen by programs that run `inside`: nft looks for cgroups where systemd mounts them, on this machine or not. */
import { execFileSync } from 'node:child_process';
import type { Cgroup } from '../../../src/node/nftables/cgroups.ts';

const ROOT = '/sys/fs/cgroup';

export class TestCgroup implements Disposable {
  readonly path: string;
  readonly inside = [
    'unshare',
    '--mount',
    'sh',
    '-c',
    `mount -t cgroup2 none ${ROOT} && exec "$@"`,
    'inside',
  ];

  constructor(name = 'kubelet.service') {
    this.path = `heddle${process.pid}.slice/${name}`;
    this.#run('mkdir', '-p', `${ROOT}/${this.path}`);
  }

  /** What runs a program as one of its processes. */
  get processes(): readonly string[] {
    const enter = `mount -t cgroup2 none ${ROOT} && echo $$ > ${ROOT}/${this.path}/cgroup.procs && exec "$@"`;
    return [...this.inside.slice(0, -2), enter, 'inside'];
  }

  found(): Cgroup {
    const id = Number(this.#run('stat', '-c', '%i', `${ROOT}/${this.path}`));
    return { path: this.path, id };
  }

  makeAgain(): void {
    this.#run('rmdir', `${ROOT}/${this.path}`);
    this.#run('mkdir', `${ROOT}/${this.path}`);
  }

  [Symbol.dispose](): void {
    const [slice = ''] = this.path.split('/');
    this.#run('rmdir', `${ROOT}/${this.path}`, `${ROOT}/${slice}`);
  }

  #run(...words: readonly string[]): string {
    const [command = '', ...args] = [...this.inside, ...words];
    return execFileSync(command, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
  }
}
