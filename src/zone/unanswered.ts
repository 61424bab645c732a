/** Who of OVN's programs has not answered for long, and since when: pure, with the clock as an argument. */
import type { Answers } from './confirmation.ts';

/** Milliseconds for which a program may owe an answer: a node with many networks takes seconds, not more. */
export const ANSWER_LIMIT = 30_000;

/**
 * Milliseconds after which OVN is asked whether it answers though nothing changed: a program that ended is not noticed otherwise, and
 * ovn-kubernetes asks every 30 s.
 */
export const ASK_INTERVAL = 60_000;

export interface Unanswered {
  readonly program: 'ovn-northd' | 'ovn-controller';
  /** What it has to reach, and what it has. */
  readonly asked: number;
  readonly answered: number;
  /** When it was asked; it has not moved since then. */
  readonly since: Date;
}

interface Debt extends Unanswered {
  /** The same on the clock that only goes forward. */
  readonly begin: number;
}

/** Keeps in mind since when each program owes an answer; one that moves on, however slowly, is not silent. */
export class AnswerWatch {
  readonly #debts = new Map<Unanswered['program'], Debt>();

  observe({ configured, northd, chassis }: Answers, now: number, wall: Date): void {
    this.#note('ovn-northd', configured, northd, now, wall);
    this.#note('ovn-controller', northd, chassis, now, wall);
  }

  /** Those who have owed an answer for longer than the limit. ovn-northd brings the chassis's answer, too: while it is silent nobody else is blamed. */
  silent(now: number): readonly Unanswered[] {
    const silent = [...this.#debts.values()].filter(({ begin }) => now - begin >= ANSWER_LIMIT);
    const northd = silent.filter(({ program }) => program === 'ovn-northd');
    return northd.length > 0 ? northd : silent;
  }

  /** True for a program that has owed an answer since before that time. */
  owedSince(program: Unanswered['program'], time: number): boolean {
    const begin = this.#debts.get(program)?.begin;
    return begin !== undefined && begin < time;
  }

  /** Milliseconds until somebody may be silent who is not yet; undefined when nobody owes an answer. */
  untilNext(now: number): number | undefined {
    const due = [...this.#debts.values()]
      .map(({ begin }) => begin + ANSWER_LIMIT - now)
      .filter((wait) => wait > 0);
    return due.length === 0 ? undefined : Math.min(...due);
  }

  #note(
    program: Unanswered['program'],
    asked: number,
    answered: number,
    now: number,
    wall: Date,
  ): void {
    const before = this.#debts.get(program);
    if (answered >= asked) this.#debts.delete(program);
    else
      this.#debts.set(program, {
        ...(before?.answered === answered ? before : { begin: now, since: wall }),
        program,
        asked,
        answered,
      });
  }
}

/** `ovn-northd has not answered since …`, and what to look at; `elsewhere`: that ovn-controller may follow another Southbound database. */
export function unansweredText(
  { program, asked, answered, since }: Unanswered,
  chassis: string | undefined,
  elsewhere?: string,
): string {
  const time = `${since.toISOString().slice(0, 19)}Z`;
  return program === 'ovn-northd'
    ? `ovn-northd has not answered since ${time}: nb_cfg of NB_Global is ${asked}, and sb_cfg, which ovn-northd raises, ${answered}; changes don't leave the Northbound database. See whether it runs (ovn-appctl -t ovn-northd status), whether the server of the Southbound database answers (ovn-sbctl show), which it writes, and its log`
    : `ovn-controller of chassis ${chassis ?? 'of this node'} has not confirmed since ${time}: sb_cfg of NB_Global is ${asked}, and hv_cfg, which the chassis raises, ${answered}; changes don't reach packets. See whether ovs-vswitchd runs, without which it confirms nothing, whether it runs itself and is connected (ovn-appctl -t ovn-controller connection-status), and its log: it may be at work on very many flows${elsewhere === undefined ? '' : `. ${elsewhere}`}`;
}
