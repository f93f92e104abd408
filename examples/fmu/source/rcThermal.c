/* air.C der(air.T) = gain P + A n sun − Q,  wall.C der(wall.T) = Q − (wall.T − T_out)/R_out,
   Q = (air.T − wall.T)/R */
#include "instance.h"
#include "names.h"

static double open_windows(const double *values) { return window_shaded ? 0.0 : window_n; }

void start(double *values) { (void)values; }

void equations(double *values) {
    const double into_wall = (air_T - wall_T) / wall_R;
    const double warming = heater_gain * P_heat + window_A * open_windows(values) * sun;
    der_air_T = (warming - into_wall) / air_C;
    der_wall_T = (into_wall - (wall_T - T_out) / wall_R_out) / wall_C;
    T_room = air_T;
    T_wall = wall_T;
    Q_wall = into_wall;
}

void jacobian(const double *values, double J[NV][NV]) {
    const double difference = air_T - wall_T, n = open_windows(values);
    const double warming = heater_gain * P_heat + window_A * n * sun;
    const double lost = wall_T - T_out;
    D(der_air_T, air_T) = -1 / (wall_R * air_C);
    D(der_air_T, wall_T) = 1 / (wall_R * air_C);
    D(der_air_T, P_heat) = heater_gain / air_C;
    D(der_air_T, sun) = window_A * n / air_C;
    D(der_air_T, air_C) = -(warming - difference / wall_R) / (air_C * air_C);
    D(der_air_T, wall_R) = difference / (wall_R * wall_R * air_C);
    D(der_air_T, window_A) = n * sun / air_C;
    D(der_air_T, heater_gain) = P_heat / air_C;
    D(der_wall_T, air_T) = 1 / (wall_R * wall_C);
    D(der_wall_T, wall_T) = -(1 / wall_R + 1 / wall_R_out) / wall_C;
    D(der_wall_T, T_out) = 1 / (wall_R_out * wall_C);
    D(der_wall_T, wall_C) = -(difference / wall_R - lost / wall_R_out) / (wall_C * wall_C);
    D(der_wall_T, wall_R) = -difference / (wall_R * wall_R * wall_C);
    D(der_wall_T, wall_R_out) = lost / (wall_R_out * wall_R_out * wall_C);
    D(T_room, air_T) = 1;
    D(T_wall, wall_T) = 1;
    D(Q_wall, air_T) = 1 / wall_R;
    D(Q_wall, wall_T) = -1 / wall_R;
    D(Q_wall, wall_R) = -difference / (wall_R * wall_R);
}

bool event(double *values) {
    (void)values;
    return false;
}

double next_event(const double *values) {
    (void)values;
    return INFINITY;
}
