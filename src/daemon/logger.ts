/** Logs: pino objects with stable keys (`component`, `network`, `node`, `object`, `error`), to standard error. */
import { pino, type Logger } from 'pino';

export type { Logger } from 'pino';

/** A logger of level `level`; JSON, one line an event. */
export const createLogger = (level: string): Logger =>
  pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      serializers: {
        error: (error: unknown) =>
          error instanceof Error
            ? { message: error.message, ...('code' in error ? { code: error.code } : {}) }
            : error,
      },
    },
    pino.destination({ dest: 2, sync: true }),
  );
